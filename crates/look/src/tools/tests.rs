//! Lists as the tools print them.

use super::*;

fn list(tool: &str, text: &str) -> Listed {
    let mut frame = Frame::default();
    let path = format!("plimsoll/tools/{tool}");
    frame.files.insert(path, text.to_owned());
    lists(&frame).pop().expect("a list")
}

#[test]
fn top_prints_kib_where_no_unit_stands_behind_the_number() {
    let head = "  PID USER PR NI VIRT RES SHR S %CPU %MEM TIME+ COMMAND\n";
    let rows = "    1 root 20 0 167M 1024 9 S 0.0 0.1 0:01 init\n  \
                77 x 20 0 9.1t 1.5g 1m S 9.0 9.0 1:00 java -jar\n   \
                78 x 20 0 1.0g 300m 1m S 9.0 9.0 1:00 b\n";
    let list = list(
        "top",
        &format!("{head}    1 r 20 0 1 99g 1 S 0 0 0 old\n{head}{rows}"),
    );
    assert_eq!(list.count, 3);
    assert_eq!(list.largest[0].name, "java -jar");
    assert_eq!(list.largest[0].bytes, 3 << 29);
    assert_eq!(list.total_bytes, (3 << 29) + (300 << 20) + (1 << 20));
}

#[test]
fn ps_has_kib_and_a_list_of_vsz_alone_says_nothing_of_memory() {
    let head = "USER PID %CPU %MEM VSZ RSS TTY STAT START TIME COMMAND\n";
    let row = "mysql 12 1.0 2.0 9000000 2048 ? Ssl Jan01 1:00 /usr/sbin/mysqld --x\n";
    let list_of_ps = list("ps", &format!("{head}{row}"));
    assert_eq!(list_of_ps.total_bytes, 2 << 20);
    let busybox = list(
        "top",
        "PID PPID USER STAT VSZ %VSZ %CPU COMMAND\n1 0 r S 900 1 0 init\n",
    );
    assert!(busybox.address_space_alone);
}

#[test]
fn tables_of_other_tools_show_the_largest_and_say_what_they_cannot() {
    let text = "Control Group     Tasks   %CPU   Memory  Input/s Output/s\n\
                /                     9      -     9.0G        -        -\n\
                /a.slice              8      -     1.5G        -        -\n\
                /b.slice              1      -        -        -        -\n";
    let groups = list("systemd-cgtop", text);
    assert_eq!(groups.count, 1, "the machine is no group");
    assert_eq!(
        (groups.largest[0].name.as_str(), groups.total_bytes),
        ("/a.slice", 3 << 29)
    );
    let text = "key shmid owner perms bytes nattch status\n0x1 12 app 666 4096 0\n";
    assert_eq!(list("ipcs", text).total_bytes, 4096);
    let text = "Address Kbytes RSS Dirty Mode Mapping\n000055b367fde000 104 4 0 r-x-- a\n\
                total kB 104 4 0\n";
    assert_eq!(list("pmap", text).total_bytes, 4096);
    assert_eq!(
        list("iostat", "avg-cpu: %user %iowait\n 1.0 46.0\n").count,
        0
    );
}

#[test]
fn slab_caches_have_their_size_in_the_seventh_column() {
    let text = "  OBJS ACTIVE  USE OBJ SIZE  SLABS OBJ/SLAB CACHE SIZE NAME\n\
                100 90 90% 0.19K 5 21 2048K dentry\n10 9 90% 1.00K 5 21 512K inode\n";
    let list = list("slabtop", text);
    assert_eq!((list.count, list.total_bytes), (2, 2560 << 10));
    assert_eq!(list.largest[0].name, "dentry");
}
