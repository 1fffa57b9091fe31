//! Instructions of BPF (`Documentation/bpf/standardization/instruction-set.rst`), as few as the
//! programs need.

/// A register. `R0` is what a helper returned, `R1` to `R5` are arguments and lost by a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Register {
    R0,
    R1,
    R2,
    R3,
    R6,
    R7,
    R8,
    R9,
    /// The end of the stack of 512 bytes.
    Frame,
}

/// How many bytes are loaded or stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    Two,
    Four,
    Eight,
}

/// A helper, by its number in `bpf.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Helper {
    MapLookup = 1,
    KtimeGetNs = 5,
    GetCurrentTask = 35,
    ProbeReadKernel = 113,
    ThisCpuPointer = 154,
    GetCurrentTaskBtf = 158,
}

/// A place to jump to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Label(usize);

/// A program that is being written.
#[derive(Debug, Default)]
pub(crate) struct Assembly {
    instructions: Vec<u64>,
    /// Jumps that wait for their label: where they stand.
    jumps: Vec<(usize, Label)>,
    /// Where each label stands, once it does.
    labels: Vec<Option<usize>>,
}

impl Register {
    fn number(self) -> u64 {
        match self {
            Self::R0 => 0,
            Self::R1 => 1,
            Self::R2 => 2,
            Self::R3 => 3,
            Self::R6 => 6,
            Self::R7 => 7,
            Self::R8 => 8,
            Self::R9 => 9,
            Self::Frame => 10,
        }
    }
}

impl Width {
    fn code(self) -> u64 {
        match self {
            Self::Four => 0x00,
            Self::Two => 0x08,
            Self::Eight => 0x18,
        }
    }
}

impl Assembly {
    /// The finished program.
    pub(crate) fn finish(mut self) -> Vec<u64> {
        for (at, label) in self.jumps {
            let to = self.labels[label.0].expect("each label stands somewhere");
            let offset = (to as i64 - at as i64 - 1) as u16;
            self.instructions[at] |= u64::from(offset) << 16;
        }
        self.instructions
    }

    fn put(&mut self, code: u64, to: u64, from: u64, offset: i16, immediate: i32) {
        let offset = u64::from(offset as u16);
        let immediate = u64::from(immediate as u32);
        self.instructions
            .push(code | to << 8 | from << 12 | offset << 16 | immediate << 32);
    }

    /// `to = from`.
    pub(crate) fn copy(&mut self, to: Register, from: Register) {
        self.put(0xbf, to.number(), from.number(), 0, 0);
    }

    /// `to = value`.
    pub(crate) fn set(&mut self, to: Register, value: i32) {
        self.put(0xb7, to.number(), 0, 0, value);
    }

    /// `to += value`.
    pub(crate) fn add(&mut self, to: Register, value: i32) {
        self.put(0x07, to.number(), 0, 0, value);
    }

    /// `to += from`.
    pub(crate) fn add_register(&mut self, to: Register, from: Register) {
        self.put(0x0f, to.number(), from.number(), 0, 0);
    }

    /// `to -= from`.
    pub(crate) fn subtract(&mut self, to: Register, from: Register) {
        self.put(0x1f, to.number(), from.number(), 0, 0);
    }

    /// `to &= value`.
    pub(crate) fn and(&mut self, to: Register, value: i32) {
        self.put(0x57, to.number(), 0, 0, value);
    }

    /// `to <<= bits`.
    pub(crate) fn shift_left(&mut self, to: Register, bits: i32) {
        self.put(0x67, to.number(), 0, 0, bits);
    }

    /// `to >>= bits`, without a sign.
    pub(crate) fn shift_right(&mut self, to: Register, bits: i32) {
        self.put(0x77, to.number(), 0, 0, bits);
    }

    /// `to = *(from + offset)`.
    pub(crate) fn load(&mut self, width: Width, to: Register, from: Register, offset: i16) {
        self.put(0x61 | width.code(), to.number(), from.number(), offset, 0);
    }

    /// `*(to + offset) = from`.
    pub(crate) fn store(&mut self, width: Width, to: Register, offset: i16, from: Register) {
        self.put(0x63 | width.code(), to.number(), from.number(), offset, 0);
    }

    /// `*(u64 *)(to + offset) = value`.
    pub(crate) fn store_value(&mut self, to: Register, offset: i16, value: i32) {
        self.put(0x7a, to.number(), 0, offset, value);
    }

    /// `*(u64 *)(to + offset) += from`, at once.
    pub(crate) fn add_atomically(&mut self, to: Register, offset: i16, from: Register) {
        self.put(0xdb, to.number(), from.number(), offset, 0);
    }

    /// The same, and `from` = what was there.
    pub(crate) fn take_atomically(&mut self, to: Register, offset: i16, from: Register) {
        const FETCH: i32 = 1;
        self.put(0xdb, to.number(), from.number(), offset, FETCH);
    }

    /// `to` = the map with this descriptor.
    pub(crate) fn map(&mut self, to: Register, descriptor: i32) {
        const IS_MAP: u64 = 1;
        self.put(0x18, to.number(), IS_MAP, 0, descriptor);
        self.put(0, 0, 0, 0, 0);
    }

    /// `to` points to the only value of the array with this descriptor.
    pub(crate) fn map_value(&mut self, to: Register, descriptor: i32) {
        const IS_VALUE: u64 = 2;
        self.put(0x18, to.number(), IS_VALUE, 0, descriptor);
        self.put(0, 0, 0, 0, 0);
    }

    /// `to` = a variable of the kernel's, by its number in BTF.
    pub(crate) fn variable(&mut self, to: Register, number: u32) {
        const IS_BTF: u64 = 3;
        self.put(0x18, to.number(), IS_BTF, 0, number.cast_signed());
        self.put(0, 0, 0, 0, 0);
    }

    /// Calls a helper.
    pub(crate) fn call(&mut self, helper: Helper) {
        self.put(0x85, 0, 0, 0, helper as i32);
    }

    /// Ends the program with 0.
    pub(crate) fn exit(&mut self) {
        self.set(Register::R0, 0);
        self.put(0x95, 0, 0, 0, 0);
    }

    /// A label that stands nowhere yet.
    pub(crate) fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// The label stands here.
    pub(crate) fn stand(&mut self, label: Label) {
        self.labels[label.0] = Some(self.instructions.len());
    }

    /// Jumps if `register == value`.
    pub(crate) fn jump_if(&mut self, register: Register, value: i32, to: Label) {
        self.branch(0x15, register, value, to);
    }

    /// Jumps if `register != value`.
    pub(crate) fn jump_unless(&mut self, register: Register, value: i32, to: Label) {
        self.branch(0x55, register, value, to);
    }

    /// Jumps if `register <= value`, both with a sign.
    pub(crate) fn jump_if_at_most(&mut self, register: Register, value: i32, to: Label) {
        self.branch(0xd5, register, value, to);
    }

    /// Jumps if `register < value`, both without a sign.
    pub(crate) fn jump_if_below(&mut self, register: Register, value: i32, to: Label) {
        self.branch(0xa5, register, value, to);
    }

    /// Jumps.
    pub(crate) fn jump(&mut self, to: Label) {
        self.branch(0x05, Register::R0, 0, to);
    }

    /// Jumps if `one != other`.
    pub(crate) fn jump_if_different(&mut self, one: Register, other: Register, to: Label) {
        self.jumps.push((self.instructions.len(), to));
        self.put(0x5d, one.number(), other.number(), 0, 0);
    }

    fn branch(&mut self, code: u64, register: Register, value: i32, to: Label) {
        self.jumps.push((self.instructions.len(), to));
        self.put(code, register.number(), 0, 0, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_have_the_bytes_that_the_kernel_reads() {
        let mut program = Assembly::default();
        let end = program.label();
        program.load(Width::Eight, Register::R6, Register::R1, 8);
        program.jump_if(Register::R6, 0, end);
        program.store(Width::Four, Register::Frame, -4, Register::R6);
        program.stand(end);
        program.take_atomically(Register::R1, 16, Register::R0);
        program.map_value(Register::R1, 5);
        program.exit();
        let bytes: Vec<[u8; 8]> = program.finish().iter().map(|at| at.to_le_bytes()).collect();
        assert_eq!(bytes[0], [0x79, 0x16, 8, 0, 0, 0, 0, 0]);
        assert_eq!(
            bytes[1],
            [0x15, 0x06, 1, 0, 0, 0, 0, 0],
            "over one instruction"
        );
        assert_eq!(bytes[2], [0x63, 0x6a, 0xfc, 0xff, 0, 0, 0, 0]);
        assert_eq!(bytes[3], [0xdb, 0x01, 16, 0, 1, 0, 0, 0], "with BPF_FETCH");
        assert_eq!(
            bytes[4],
            [0x18, 0x21, 0, 0, 5, 0, 0, 0],
            "BPF_PSEUDO_MAP_VALUE"
        );
        assert_eq!(bytes[7], [0x95, 0, 0, 0, 0, 0, 0, 0]);
    }
}
