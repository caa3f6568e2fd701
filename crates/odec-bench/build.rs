//! Compiles the hand-written limits, and LSODA if its source is available.

use std::env;
use std::path::PathBuf;

/// Small stiff problems: one header for each, for which the same methods are compiled.
const SMALL: [&str; 6] = ["pollu", "hires", "rober40", "rober1e11", "orego", "vdp"];

fn c() -> cc::Build {
    let mut build = cc::Build::new();
    build.opt_level(3).flag("-march=native").flag_if_supported("-fcx-limited-range").warnings(false);
    build
}

fn main() {
    println!("cargo:rerun-if-changed=limit");
    println!("cargo:rerun-if-env-changed=ODEC_LSODA");
    println!("cargo:rustc-check-cfg=cfg(lsoda)");
    for problem in SMALL {
        let header = format!("\"problems/{problem}.h\"");
        c().file("limit/small.c")
            .define("HDR", header.as_str())
            .define("PREFIX", format!("limit_{problem}").as_str())
            .compile(&format!("limit_{problem}"));
    }
    c().file("limit/lines.c").file("limit/nonstiff.c").compile("limit_common");

    // LSODA.cpp and LSODA.h as numbalsoda ships them; peers.sh fetches them
    let folder = env::var_os("ODEC_LSODA").map_or_else(|| PathBuf::from("peers/lsoda"), PathBuf::from);
    println!("cargo:rerun-if-changed={}", folder.display());
    if folder.join("LSODA.cpp").exists() {
        println!("cargo:rustc-cfg=lsoda");
        cc::Build::new()
            .cpp(true)
            .std("c++17")
            .opt_level(3)
            .flag("-march=native")
            .warnings(false)
            .include(&folder)
            .file(folder.join("LSODA.cpp"))
            .file("limit/lsoda.cpp")
            .compile("lsoda");
    }
}
