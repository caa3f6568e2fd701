//! The command line, as clap sees it. Every entry of a run block has a flag of the same name.

pub mod fit;
mod sweep;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
pub use sweep::Sweep;

/// Compile and solve differential-equation models.
#[derive(Parser, Debug)]
#[command(name = "odec", version, about = "Compile and solve models made of differential equations", after_help = crate::exit::HELP, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// What applies to every command.
    #[command(flatten)]
    pub common: Common,
}

/// Flags of every command.
#[derive(Args, Debug, Clone, Copy)]
pub struct Common {
    /// Format of messages on standard error: `human`, or `json` with one object per line
    #[arg(hide_possible_values = true, long, global = true, value_enum, default_value_t = MessageFormat::Human, value_name = "FORMAT", help_heading = "Messages")]
    pub message_format: MessageFormat,
    /// Colours: `auto` (on a terminal, unless NO_COLOR is set), `always`, `never`
    #[arg(hide_possible_values = true, long, global = true, value_enum, default_value_t = ColorChoice::Auto, value_name = "WHEN", help_heading = "Messages")]
    pub color: ColorChoice,
    /// Print errors only
    #[arg(short, long, global = true, help_heading = "Messages")]
    pub quiet: bool,
}

/// Form of diagnostics.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageFormat {
    /// With the source, for people
    Human,
    /// One JSON object per line, for tools
    Json,
}

/// When to use colours.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColorChoice {
    /// If standard error is a terminal and NO_COLOR is not set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The commands.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Solve a model and write the rows as CSV
    Run(Run),
    /// Check a model for errors without running it
    Check(Check),
    /// Solve a model for many parameter values, on all cores
    Sweep(Sweep),
    /// Fit parameters and initial values to data
    Fit(fit::FitArgs),
    /// Check the `expect` and `conserve` lines of a model
    Test(Test),
    /// Plot states against time or against each other, and arrays as colour maps or against their index
    Plot(Plot),
    /// Plot the stability region of a method and the eigenvalues of a model
    Stability(Stability),
    /// Find and classify the steady states of a model
    Steady(SteadyArgs),
    /// Measure the order of a method on a model
    Order(Order),
    /// Compare the error, drift and work of methods on a model
    Compare(Compare),
    /// Measure time, work and error for several methods and tolerances
    Bench(Bench),
    /// Plot the vector field of two states, with integral curves, nullclines and equilibria
    Field(FieldArgs),
    /// Print a model at a stage of compilation
    Dump(Dump),
    /// Write the compiled model for use in other programs
    Emit(Emit),
    /// List the methods
    Methods,
    /// Explain an error, warning or note by its code
    Explain(Explain),
    /// Convert an SBML model to odec's language
    Import(Import),
    /// Convert a model to SBML
    Export(Export),
    /// Create a small example model
    New(New),
    /// Print completions for a shell
    Completions(Completions),
    /// Print the manual page (roff)
    Man,
}

/// The resources of a model: the files that it may read beside its own, and memory.
#[derive(Args, Debug, Default, Clone)]
pub struct Files {
    /// Also search this folder for the files that `use` names (repeatable)
    #[arg(long, value_name = "FOLDER", help_heading = "Model")]
    pub path: Vec<PathBuf>,
    /// Let the model also read tables from this folder (repeatable)
    #[arg(long, value_name = "FOLDER", help_heading = "Model")]
    pub allow_read: Vec<PathBuf>,
    /// Read the samples of an input from this file instead (repeatable)
    #[arg(long, value_name = "INPUT=FILE", help_heading = "Model")]
    pub data: Vec<String>,
    /// Refuse a model or a run that would need more memory, for example `500M` or `4G` [default: 80 % of the machine's memory]
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true, help_heading = "Model")]
    pub max_memory: Option<String>,
}

/// A model and the values to use in it.
#[derive(Args, Debug, Clone)]
pub struct ModelArgs {
    /// The model (.ode); `-` reads standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Set a parameter, constant or initial value (repeatable)
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Model")]
    pub set: Vec<String>,
    /// Use the values of `params NAME { ... }`
    #[arg(long, value_name = "NAME", help_heading = "Model")]
    pub params: Option<String>,
    /// The files that the model reads.
    #[command(flatten)]
    pub files: Files,
}

/// The run block: its name, and a flag for each of its entries.
#[derive(Args, Debug, Default, Clone)]
pub struct RunBlock {
    /// Use `run NAME { ... }`
    #[arg(long, value_name = "NAME", help_heading = "Run")]
    pub run: Option<String>,
    /// Time span
    #[arg(long, value_name = "START..END", allow_hyphen_values = true, help_heading = "Run")]
    pub t: Option<String>,
    /// End of the time span
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, conflicts_with = "t", help_heading = "Run")]
    pub t_end: Option<String>,
    /// Method, one of `odec methods`; `auto` chooses one for the model
    #[arg(long, value_name = "NAME", help_heading = "Run")]
    pub method: Option<String>,
    /// Constant step size; `--step auto` lets the error control choose it
    #[arg(long, value_name = "H", allow_hyphen_values = true, help_heading = "Run")]
    pub step: Option<String>,
    /// Relative tolerance
    #[arg(long, value_name = "TOL", allow_hyphen_values = true, help_heading = "Run")]
    pub rtol: Option<String>,
    /// Absolute tolerance, for all states or for one (repeatable)
    #[arg(long, value_name = "TOL or STATE=TOL", allow_hyphen_values = true, help_heading = "Run")]
    pub atol: Vec<String>,
    /// Rows after the first one: `200`, `log(200, 1e-6)`, `steps`, or times `1,2,5`
    #[arg(long, value_name = "SAMPLES", allow_hyphen_values = true, help_heading = "Run")]
    pub samples: Option<String>,
    /// Columns: `all`, `states`, `outputs`, or names `A,B,total`
    #[arg(long, value_name = "NAMES", help_heading = "Run")]
    pub record: Option<String>,
    /// Largest step
    #[arg(long, value_name = "H", allow_hyphen_values = true, help_heading = "Run")]
    pub max_step: Option<String>,
    /// Give up after this number of steps
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Run")]
    pub max_steps: Option<String>,
    /// Start from a steady state instead of the initial values
    #[arg(long, value_name = "steady", value_parser = ["steady"], hide_possible_values = true, help_heading = "Run")]
    pub start: Option<String>,
    /// Linear solver of implicit methods: `auto`, `dense`, `banded`, `sparse`, `compiled`, `krylov`
    #[arg(long, value_name = "SOLVER", help_heading = "Run")]
    pub linear: Option<String>,
    /// Interpret the kernels instead of compiling them: slower, with bitwise equal results
    #[arg(long, help_heading = "Run")]
    pub interpret: bool,
}

/// `odec run`
#[derive(Args, Debug)]
pub struct Run {
    /// The model.
    #[command(flatten)]
    pub model: ModelArgs,
    /// The run.
    #[command(flatten)]
    pub block: RunBlock,
    /// Also compute derivatives with respect to these parameters and initial values: `k1,k2` adds columns `d(x)/d(k1)`
    #[arg(long, value_name = "NAMES", help_heading = "Run")]
    pub sens: Option<String>,
    /// Write the rows to a file instead of standard output
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// Add units to the column names: `t [s],x [m]`
    #[arg(long, help_heading = "Output")]
    pub units: bool,
    /// Write an aligned table with step numbers instead of CSV; each step is a row unless you give `--samples`
    #[arg(long, help_heading = "Output")]
    pub table: bool,
    /// Write the effects of events as CSV: time, round, event, and each quantity before and after
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub events: Option<PathBuf>,
    /// Write the summary as JSON; `-` is standard output and requires -o for the rows
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub stats: Option<PathBuf>,
}

/// `odec check`
#[derive(Args, Debug)]
pub struct Check {
    /// The model.
    #[command(flatten)]
    pub model: ModelArgs,
    /// Compare the symbolic derivatives with dual numbers and finite differences
    #[arg(long)]
    pub derivatives: bool,
    /// List everything that ends a step: known times, samples of inputs, located comparisons, events
    #[arg(long)]
    pub stops: bool,
    /// Apply the suggested corrections and write the file; with standard input, write to standard output
    #[arg(long)]
    pub fix: bool,
}

/// `odec test`
#[derive(Args, Debug)]
pub struct Test {
    /// The model.
    #[command(flatten)]
    pub model: ModelArgs,
    /// The run.
    #[command(flatten)]
    pub block: RunBlock,
}

/// `odec plot`
#[derive(Args, Debug)]
pub struct Plot {
    /// The model.
    #[command(flatten)]
    pub model: ModelArgs,
    /// Curves: states and outputs, elements `u[3]` or `u[*,5]`, one against another as `x:y` or `p[*].x:p[*].y`
    /// [default: all recorded quantities]
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Quantity on the horizontal axis, instead of time
    #[arg(short, long, value_name = "NAME", help_heading = "Plot")]
    pub x: Option<String>,
    /// Plot an array against its index at these times: `0,1,5`
    #[arg(long, value_name = "TIMES", allow_hyphen_values = true, help_heading = "Plot")]
    pub at: Option<String>,
    /// Logarithmic axes: `none`, `x`, `y`, `xy` [default: the time axis if the samples are logarithmic]
    #[arg(hide_possible_values = true, long, value_enum, value_name = "AXES", help_heading = "Plot")]
    pub log: Option<LogAxes>,
    /// Width and height in pixels [default: fits the panels, usually 1200x750]
    #[arg(long, value_name = "WxH", allow_hyphen_values = true, help_heading = "Plot")]
    pub size: Option<String>,
    /// The run.
    #[command(flatten)]
    pub block: RunBlock,
    /// Picture file, `.svg` or `.png`; repeat it for both [default: the model's name with .svg]
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Vec<PathBuf>,
}

/// Where and how large a picture is.
#[derive(Args, Debug)]
pub struct Figure {
    /// Picture file, `.svg` or `.png`; repeat it for both [default: .svg in the working directory]
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Vec<PathBuf>,
    /// Width and height in pixels
    #[arg(long, value_name = "WxH", default_value = "1100x750", allow_hyphen_values = true, help_heading = "Output")]
    pub size: String,
}

/// `odec stability`
#[derive(Args, Debug)]
pub struct Stability {
    /// The model (.ode) whose eigenvalues to show, if any; `-` reads standard input
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Set a parameter, constant or initial value (repeatable)
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Model")]
    pub set: Vec<String>,
    /// Use the values of `params NAME { ... }`
    #[arg(long, value_name = "NAME", help_heading = "Model")]
    pub params: Option<String>,
    /// The files that the model reads.
    #[command(flatten)]
    pub files: Files,
    /// The run.
    #[command(flatten)]
    pub block: RunBlock,
    /// The picture.
    #[command(flatten)]
    pub figure: Figure,
}

/// `odec steady`
#[derive(Args, Debug)]
pub struct SteadyArgs {
    /// The model; `--set x=-5:5` draws the starts of a state from a range.
    #[command(flatten)]
    pub model: ModelArgs,
    /// Also start from N random states, near the initial values or in the ranges of `--set x=-5:5`
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=odec_sim::steady::MAX_STARTS), allow_hyphen_values = true, help_heading = "Search")]
    pub starts: u64,
    /// Seed of the random states [default: 1]
    #[arg(long, value_name = "N", allow_hyphen_values = true, requires = "starts", help_heading = "Search")]
    pub seed: Option<u64>,
}

/// `odec order`
#[derive(Args, Debug)]
pub struct Order {
    /// The model.
    #[command(flatten)]
    pub model: ModelArgs,
    /// The run.
    #[command(flatten)]
    pub block: RunBlock,
    /// The picture.
    #[command(flatten)]
    pub figure: Figure,
}

/// `odec compare`
#[derive(Args, Debug)]
pub struct Compare {
    /// The model.
    #[command(flatten)]
    pub model: ModelArgs,
    /// Methods, separated by commas, or `all` [default: some of each family]. With `--step H` they take constant
    /// steps, otherwise they control the error
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = "Comparison")]
    pub methods: Vec<String>,
    /// Measure of work to plot against the error
    #[arg(long, value_enum, default_value_t = Work::Time, help_heading = "Comparison")]
    pub work: Work,
    /// The run.
    #[command(flatten)]
    pub block: RunBlock,
    /// The picture.
    #[command(flatten)]
    pub figure: Figure,
}

/// `odec bench`
#[derive(Args, Debug)]
pub struct Bench {
    /// The model.
    #[command(flatten)]
    pub model: ModelArgs,
    /// Methods, separated by commas [default: the default method and some of the fastest]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = "Measurement")]
    pub methods: Vec<String>,
    /// Relative tolerances; the absolute tolerances change in proportion
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', help_heading = "Measurement")]
    pub rtols: Vec<String>,
    /// Number of runs for each method and tolerance; fewer if they take more than 10 seconds
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..), help_heading = "Measurement")]
    pub repeat: u32,
    /// Write the table as JSON, with times in seconds
    #[arg(long, help_heading = "Measurement")]
    pub json: bool,
    /// The run.
    #[command(flatten)]
    pub block: RunBlock,
}

/// What a run costs.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Seconds on this machine
    Time,
    /// Evaluations of f
    F,
    /// Steps, including rejected ones
    Steps,
}

/// `odec field`
#[derive(Args, Debug)]
pub struct FieldArgs {
    /// The model.
    #[command(flatten)]
    pub model: ModelArgs,
    /// State on the horizontal axis [default: the first]
    #[arg(value_name = "X")]
    pub x: Option<String>,
    /// State on the vertical axis [default: the second]
    #[arg(value_name = "Y")]
    pub y: Option<String>,
    /// Ends of the horizontal axis [default: around the run]
    #[arg(long, value_name = "LOW..HIGH", allow_hyphen_values = true, help_heading = "Field")]
    pub x_range: Option<String>,
    /// Ends of the vertical axis [default: around the run]
    #[arg(long, value_name = "LOW..HIGH", allow_hyphen_values = true, help_heading = "Field")]
    pub y_range: Option<String>,
    /// Time of the field, and of the values of all other states [default: the start]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Field")]
    pub at: Option<String>,
    /// The run.
    #[command(flatten)]
    pub block: RunBlock,
    /// The picture.
    #[command(flatten)]
    pub figure: Figure,
}

/// Which axes are logarithmic.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogAxes {
    /// Neither
    None,
    /// The horizontal one
    X,
    /// The vertical one
    Y,
    /// Both
    Xy,
}

/// `odec dump`
#[derive(Args, Debug)]
pub struct Dump {
    /// The model.
    #[command(flatten)]
    pub model: ModelArgs,
    /// Stage of the compiler
    #[arg(long, value_enum, default_value_t = Stage::Ir)]
    pub stage: Stage,
}

/// Stages of the compiler.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The syntax tree
    Tree,
    /// Reactions, their stoichiometric matrix, and their conserved totals
    Reactions,
    /// The checked model, with the equations derived from reactions; also `odes`
    #[value(alias = "odes")]
    Model,
    /// The kernels, in the text form of the IR
    Ir,
    /// Cranelift's input
    Clif,
    /// Machine code, disassembled
    Asm,
}

/// `odec emit`
#[derive(Args, Debug)]
pub struct Emit {
    /// The model.
    #[command(flatten)]
    pub model: ModelArgs,
    /// Format; `object` and `c` come with a C header of the same name
    #[arg(long, value_enum)]
    pub to: Target,
    /// Output file [default: the model's name with the extension of the format]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Prefix of all C names [default: derived from the model's name]
    #[arg(long, value_name = "NAME")]
    pub prefix: Option<String>,
}

/// What `emit` writes.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Relocatable object for this machine, with a header
    Object,
    /// C source, with a header
    C,
    /// FMU for other simulators (FMI 3.0 model exchange)
    Fmu,
    /// Cranelift's text
    Clif,
    /// Disassembled machine code
    Asm,
}

impl Target {
    /// What the names of its files end in.
    pub fn extension(self) -> &'static str {
        match self {
            Target::Object => "o",
            Target::C => "c",
            Target::Fmu => "fmu",
            Target::Clif => "clif",
            Target::Asm => "s",
        }
    }
}

/// `odec explain`
#[derive(Args, Debug)]
pub struct Explain {
    /// The code, for example `E0201` [default: list all codes]
    pub code: Option<String>,
}

/// `odec new`
#[derive(Args, Debug)]
pub struct New {
    /// The file to write; it must not exist
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

/// `odec import`
#[derive(Args, Debug)]
pub struct Import {
    /// The SBML file; `-` reads standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Also search this folder for the files that contain submodels (repeatable)
    #[arg(long, value_name = "FOLDER", help_heading = "Model")]
    pub path: Vec<PathBuf>,
    /// Also read submodels from this folder (repeatable)
    #[arg(long, value_name = "FOLDER", help_heading = "Model")]
    pub allow_read: Vec<PathBuf>,
    /// Write the model to a file instead of standard output
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
}

/// `odec export`
#[derive(Args, Debug)]
pub struct Export {
    #[command(flatten)]
    pub model: ModelArgs,
    /// Format of the output: `sbml`
    #[arg(long, value_enum, default_value_t = Foreign::Sbml, value_name = "FORMAT", help_heading = "Output")]
    pub to: Foreign,
    /// Write to a file instead of standard output
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
}

/// Languages of other tools.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// SBML Level 3 Version 2
    Sbml,
}

/// `odec completions`
#[derive(Args, Debug)]
pub struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}
