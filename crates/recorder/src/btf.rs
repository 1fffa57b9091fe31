//! The kernel's own description of its types (`Documentation/bpf/btf.rst`), as far as the programs
//! need it: where a member lies, and the number of a function.

/// `BTF_MAGIC`, and the length of the header that all versions have.
const MAGIC: u16 = 0xeb9f;
const HEADER: usize = 24;

/// How deep structures without a name are looked into.
const DEPTH: usize = 8;

const STRUCT: u32 = 4;
const UNION: u32 = 5;
const ENUM: u32 = 6;
const TYPEDEF: u32 = 8;
const FUNC: u32 = 12;
const VARIABLE: u32 = 14;

/// A type, as it stands in the section of types.
#[derive(Clone, Copy, Debug)]
struct Type {
    /// Where it begins.
    at: usize,
    name: u32,
    kind: u32,
    /// How many members or parameters it has.
    count: usize,
    /// Whether offsets of its members also hold the sizes of bit fields.
    has_bit_fields: bool,
    /// The type that it refers to, or its size.
    refers_to: u32,
}

/// `/sys/kernel/btf/vmlinux`.
#[derive(Debug)]
pub(crate) struct Btf {
    bytes: Vec<u8>,
    strings: usize,
    /// By their numbers less one: 0 is `void`.
    types: Vec<Type>,
}

impl Btf {
    /// Reads it; nothing where it is damaged or of a kind that is not known.
    pub(crate) fn read(bytes: Vec<u8>) -> Option<Self> {
        let length = word(&bytes, 4)? as usize;
        if u16::from_le_bytes([*bytes.first()?, *bytes.get(1)?]) != MAGIC || length < HEADER {
            return None;
        }
        let from = length.checked_add(word(&bytes, 8)? as usize)?;
        let to = from.checked_add(word(&bytes, 12)? as usize)?;
        let strings = length.checked_add(word(&bytes, 16)? as usize)?;
        let mut types = Vec::new();
        let mut at = from;
        while at < to {
            let found = Type::read(&bytes, at)?;
            at = found.end()?;
            types.push(found);
        }
        Some(Self {
            bytes,
            strings,
            types,
        })
    }

    /// The number of a function of the kernel.
    pub(crate) fn function(&self, name: &str) -> Option<u32> {
        self.number(FUNC, name)
    }

    /// The number of a tracepoint's type.
    pub(crate) fn tracepoint(&self, name: &str) -> Option<u32> {
        self.number(TYPEDEF, &format!("btf_trace_{name}"))
    }

    /// The number of a variable of the kernel that each CPU has.
    pub(crate) fn variable(&self, name: &str) -> Option<u32> {
        self.number(VARIABLE, name)
    }

    fn number(&self, kind: u32, name: &str) -> Option<u32> {
        let found = |of: &Type| of.kind == kind && self.string(of.name) == name.as_bytes();
        let at = self.types.iter().position(found)?;
        u32::try_from(at + 1).ok()
    }

    /// What a word of an enumeration stands for.
    pub(crate) fn enumerator(&self, enumeration: &str, word: &str) -> Option<u32> {
        let is_it = |of: &&Type| of.kind == ENUM && self.string(of.name) == enumeration.as_bytes();
        let found = *self.types.iter().find(is_it)?;
        let places = (0..found.count).map(|index| found.at + 12 + 8 * index);
        let mut words = places.map(|at| Some((self::word(&self.bytes, at)?, at + 4)));
        let (_, at) =
            words.find_map(|it| it.filter(|(name, _)| self.string(*name) == word.as_bytes()))?;
        self::word(&self.bytes, at)
    }

    /// Where a member lies in a structure, in bytes; a path of several with dots between, as in
    /// `se.sum_exec_runtime`. Members of structures without a name belong to the one around them.
    pub(crate) fn offset(&self, structure: &str, path: &str) -> Option<u32> {
        let is_it = |of: &&Type| is_structure(of) && self.string(of.name) == structure.as_bytes();
        let mut within = *self.types.iter().find(is_it)?;
        let mut bits = 0;
        for name in path.split('.') {
            let (at, of) = self.member(within, name, DEPTH)?;
            bits += at;
            within = of;
        }
        Some(bits / 8)
    }

    /// Where a member lies, in bits, and its type, or the structure itself where it has none.
    fn member(&self, within: Type, name: &str, depth: usize) -> Option<(u32, Type)> {
        for index in 0..within.count {
            let at = within.at + 12 + 12 * index;
            let (called, refers_to) = (word(&self.bytes, at)?, word(&self.bytes, at + 4)?);
            let raw = word(&self.bytes, at + 8)?;
            let bits = if within.has_bit_fields {
                raw & 0x00ff_ffff
            } else {
                raw
            };
            let of = self.type_of(refers_to, DEPTH);
            if self.string(called) == name.as_bytes() {
                return Some((bits, of.unwrap_or(within)));
            }
            let inner = of.filter(|of| called_nothing(self, called) && is_structure(of));
            if let Some(inner) = inner.filter(|_| depth > 0)
                && let Some((at, of)) = self.member(inner, name, depth - 1)
            {
                return Some((bits + at, of));
            }
        }
        None
    }

    /// A type by its number, without typedefs and qualifiers.
    fn type_of(&self, number: u32, depth: usize) -> Option<Type> {
        let found = *self.types.get((number as usize).checked_sub(1)?)?;
        let is_other_name = matches!(found.kind, 8..=11 | 18);
        match is_other_name && depth > 0 {
            true => self.type_of(found.refers_to, depth - 1),
            false => Some(found),
        }
    }

    fn string(&self, offset: u32) -> &[u8] {
        let from = self.strings.saturating_add(offset as usize);
        let rest = self.bytes.get(from..).unwrap_or_default();
        rest.split(|&byte| byte == 0).next().unwrap_or_default()
    }
}

impl Type {
    fn read(bytes: &[u8], at: usize) -> Option<Self> {
        let info = word(bytes, at + 4)?;
        Some(Self {
            at,
            name: word(bytes, at)?,
            kind: info >> 24 & 0x1f,
            count: (info & 0xffff) as usize,
            has_bit_fields: info >> 31 == 1,
            refers_to: word(bytes, at + 8)?,
        })
    }

    /// Where the next one begins; nothing for a kind that is not known.
    fn end(&self) -> Option<usize> {
        let more = match self.kind {
            1 | 14 | 17 => 4,
            2 | 7..=12 | 16 | 18 => 0,
            3 => 12,
            STRUCT | UNION | 15 | 19 => 12 * self.count,
            ENUM | 13 => 8 * self.count,
            _ => return None,
        };
        Some(self.at + 12 + more)
    }
}

fn is_structure(of: &Type) -> bool {
    matches!(of.kind, STRUCT | UNION)
}

fn called_nothing(btf: &Btf, name: u32) -> bool {
    btf.string(name).is_empty()
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    four.try_into().ok().map(u32::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `struct outer { int a; struct { long b; }; struct inner in; }; void run(void)`.
    fn small() -> Vec<u8> {
        let strings = b"\0outer\0a\0b\0in\0inner\0c\0run\0int\0";
        let name = |text: &str| {
            let wanted = format!("\0{text}\0");
            let found = strings
                .windows(wanted.len())
                .position(|at| at == wanted.as_bytes());
            found.map_or(0, |at| at as u32 + 1)
        };
        let kind = |kind: u32, count: u32| kind << 24 | count;
        let mut types: Vec<u32> = vec![name("int"), kind(1, 0), 4, 32];
        types.extend([0, kind(STRUCT, 1), 8, name("b"), 1, 0]);
        types.extend([name("inner"), kind(STRUCT, 1), 16, name("c"), 1, 64]);
        types.extend([name("outer"), kind(STRUCT, 3), 32, name("a"), 1, 0]);
        types.extend([0, 2, 64, name("in"), 3, 128]);
        types.extend([0, kind(13, 0), 0, name("run"), kind(FUNC, 0), 5]);
        let length = types.len() as u32 * 4;
        let header = [0x0001_eb9f, 24, 0, length, length, strings.len() as u32];
        let words = header.iter().chain(&types);
        let mut bytes: Vec<u8> = words.flat_map(|word| word.to_le_bytes()).collect();
        bytes.extend(strings);
        bytes
    }

    #[test]
    fn members_are_found_by_their_path_and_functions_by_their_names() {
        let btf = Btf::read(small()).expect("the types are read");
        assert_eq!(btf.offset("outer", "a"), Some(0));
        assert_eq!(btf.offset("outer", "b"), Some(8));
        assert_eq!(btf.offset("outer", "in.c"), Some(24));
        assert_eq!(btf.offset("outer", "missing"), None);
        assert_eq!(btf.function("run"), Some(6));
        assert_eq!(btf.function("outer"), None);
    }

    #[test]
    fn what_is_cut_or_damaged_is_refused_or_finds_nothing() {
        let whole = small();
        for length in 0..whole.len() {
            let cut = Btf::read(whole[..length].to_vec());
            let _ = cut.map(|btf| btf.offset("outer", "in.c"));
            let mut damaged = whole.clone();
            damaged[length] ^= 0xff;
            let _ = Btf::read(damaged).map(|btf| btf.offset("outer", "in.c"));
        }
    }
}
