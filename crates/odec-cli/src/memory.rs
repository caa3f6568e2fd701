//! System limits and usage (Linux): the memory of the process, the memory that a run may take, and the largest length
//! of a file.

use std::fs::read_to_string;

/// Default fraction of the machine's memory that a run may use.
const SHARE: f64 = 0.8;

/// The peak memory use of the process, in bytes.
pub fn peak() -> Option<u64> {
    kilobytes(&read_to_string("/proc/self/status").ok()?, "VmHWM:")
}

/// The memory limit of a run in bytes: a share of the memory of the machine or of its container.
pub fn budget() -> Option<u64> {
    let machine = read_to_string("/proc/meminfo").ok().and_then(|text| kilobytes(&text, "MemTotal:"));
    let container = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    let container = container.iter().filter_map(|file| read_to_string(file).ok()?.trim().parse::<u64>().ok());
    container.chain(machine).min().map(|bytes| (bytes as f64 * SHARE) as u64)
}

/// The limit on the size of a file in bytes (`ulimit -f`); `None`: no limit.
pub fn file_limit() -> Option<u64> {
    limit(&read_to_string("/proc/self/limits").ok()?)
}

fn limit(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("Max file size"))?.split_whitespace().next()?.parse().ok()
}

fn kilobytes(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::{kilobytes, limit};

    #[test]
    fn the_memory_report_of_the_system_is_read() {
        assert_eq!(kilobytes("MemFree: 3 kB\nMemTotal:       16 kB\n", "MemTotal:"), Some(16 << 10));
        assert_eq!(kilobytes("MemFree: 3 kB\n", "MemTotal:"), None);
        let limits = "Limit       Soft Limit   Hard Limit  Units\nMax file size  1024  unlimited  bytes\n";
        assert_eq!(limit(limits), Some(1024));
        assert_eq!(limit("Max file size  unlimited  unlimited  bytes\n"), None);
    }
}
