//! The command line, as clap sees it. Every entry of a run block has a flag of the same name.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Compile and solve differential-equation models.
#[derive(Parser, Debug)]
#[command(name = "odec", version, about, after_help = crate::exit::HELP, max_term_width = 100)]
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
    /// How messages are written on standard error: `human`, or `json`, one object per line
    #[arg(hide_possible_values = true, long, global = true, value_enum, default_value_t = MessageFormat::Human, value_name = "FORMAT", help_heading = "Messages")]
    pub message_format: MessageFormat,
    /// Colours: `auto` (on a terminal, unless NO_COLOR is set), `always`, `never`
    #[arg(hide_possible_values = true, long, global = true, value_enum, default_value_t = ColorChoice::Auto, value_name = "WHEN", help_heading = "Messages")]
    pub color: ColorChoice,
    /// Say nothing but errors
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
    /// Say what is wrong with a model, without running it
    Check(Check),
    /// Solve a model many times, over ranges of its parameters, on all cores
    Sweep(Sweep),
    /// Check what a model promises: its `expect` and `conserve` lines
    Test(Test),
    /// Draw states against time or one against another, arrays as colours or against their index
    Plot(Plot),
    /// Draw where a method is stable, and where the steps of a model lie
    Stability(Stability),
    /// Find the states of a model that do not change, with their types
    Steady(Steady),
    /// Measure the order of a method on a model
    Order(Order),
    /// Compare methods on a model: errors, drifts, work
    Compare(Compare),
    /// Measure what solving a model costs: time, counts and error by method and tolerance
    Bench(Bench),
    /// Draw the vector field of two states, with integral curves, nullclines and equilibria
    Field(Field),
    /// Print what the compiler makes of a model
    Dump(Dump),
    /// Write the compiled kernels, for use from other programs
    Emit(Emit),
    /// List the methods
    Methods,
    /// Explain the code of a diagnostic
    Explain(Explain),
    /// Write an SBML model as a model of odec
    Import(Import),
    /// Write a model of odec as SBML
    Export(Export),
    /// Write a small model to start from
    New(New),
    /// Print the completions of a shell
    Completions(Completions),
    /// Print the manual page (roff)
    Man,
}

/// A model and the values to use in it.
#[derive(Args, Debug, Clone)]
pub struct Model {
    /// The model (.ode); `-` reads standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Another value of a parameter, constant or initial value
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Model")]
    pub set: Vec<String>,
    /// Use the values of `params NAME { ... }`
    #[arg(long, value_name = "NAME", help_heading = "Model")]
    pub params: Option<String>,
    /// Look for the files that `use` names in this folder too, after that of the file that uses them (repeatable)
    #[arg(long, value_name = "FOLDER", help_heading = "Model")]
    pub path: Vec<PathBuf>,
    /// Let the model read tables from this folder too, beside its own (repeatable)
    #[arg(long, value_name = "FOLDER", help_heading = "Model")]
    pub allow_read: Vec<PathBuf>,
    /// Take the samples of an input from this file instead of its own (repeatable)
    #[arg(long, value_name = "INPUT=FILE", help_heading = "Model")]
    pub data: Vec<String>,
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
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Run")]
    pub t_end: Option<String>,
    /// Method (`odec methods` lists them); `auto` chooses by the structure of the model
    #[arg(long, value_name = "NAME", help_heading = "Run")]
    pub method: Option<String>,
    /// Take steps of exactly this size; `auto` lets the error decide
    #[arg(long, value_name = "H", allow_hyphen_values = true, help_heading = "Run")]
    pub step: Option<String>,
    /// Relative tolerance
    #[arg(long, value_name = "TOL", allow_hyphen_values = true, help_heading = "Run")]
    pub rtol: Option<String>,
    /// Absolute tolerance, of all states or of one (repeatable)
    #[arg(long, value_name = "TOL or STATE=TOL", allow_hyphen_values = true, help_heading = "Run")]
    pub atol: Vec<String>,
    /// Rows after the first: `200`, `log(200, 1e-6)`, `steps`, or times `1,2,5`
    #[arg(long, value_name = "SAMPLES", allow_hyphen_values = true, help_heading = "Run")]
    pub samples: Option<String>,
    /// Columns: `all`, `states`, `outputs`, or names `A,B,total`
    #[arg(long, value_name = "NAMES", help_heading = "Run")]
    pub record: Option<String>,
    /// Largest step
    #[arg(long, value_name = "H", allow_hyphen_values = true, help_heading = "Run")]
    pub max_step: Option<String>,
    /// Give up after so many steps
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Run")]
    pub max_steps: Option<String>,
    /// Refuse a run that would take more memory, `500M` or `4G`; four fifths of the machine's if not given
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true, help_heading = "Run")]
    pub max_memory: Option<String>,
    /// Solver of the linear systems of implicit methods: `auto`, `dense`, `banded`, `sparse`, `compiled`, `krylov`
    #[arg(long, value_name = "SOLVER", help_heading = "Run")]
    pub linear: Option<String>,
    /// Interpret the kernels instead of compiling them: the same bits, slower
    #[arg(long, help_heading = "Run")]
    pub interpret: bool,
}

/// `odec run`
#[derive(Args, Debug)]
pub struct Run {
    /// The model.
    #[command(flatten)]
    pub model: Model,
    /// The run.
    #[command(flatten)]
    pub block: RunBlock,
    /// Also compute the derivatives of states and outputs by these parameters and initial values, `k1,k2`: columns `d(x)/d(k1)`
    #[arg(long, value_name = "NAMES", help_heading = "Run")]
    pub sens: Option<String>,
    /// Write the rows to a file instead of standard output
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// Write units into the names of the columns: `t [s],x [m]`
    #[arg(long, help_heading = "Output")]
    pub units: bool,
    /// Write an aligned table with the number of each step instead of CSV; each step is a row unless `--samples` says otherwise
    #[arg(long, help_heading = "Output")]
    pub table: bool,
    /// Write what events did as CSV: time, round, event, and each quantity before and after
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub events: Option<PathBuf>,
    /// Write the summary as JSON; `-` is standard output (the rows then need -o)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub stats: Option<PathBuf>,
}

/// `odec sweep`
#[derive(Args, Debug)]
pub struct Sweep {
    /// The model (.ode); `-` reads standard input
    #[arg(value_name = "FILE", required_unless_present = "join")]
    pub file: Option<PathBuf>,
    /// Values of a parameter or initial value: `k=0.1:1:50` for 50 evenly spaced ones, `k=0.1:1:50:log` (or `50log`) for equal
    /// ratios, `k=0.5` for one. All combinations of several ranges are run, the last one varying fastest
    #[arg(long, value_name = "NAME=FROM:TO:COUNT", help_heading = "Model")]
    pub set: Vec<String>,
    /// Use the values of `params NAME { ... }`
    #[arg(long, value_name = "NAME", help_heading = "Model")]
    pub params: Option<String>,
    /// Look for the files that `use` names in this folder too, after that of the file that uses them (repeatable)
    #[arg(long, value_name = "FOLDER", help_heading = "Model")]
    pub path: Vec<PathBuf>,
    /// Let the model read tables from this folder too, beside its own (repeatable)
    #[arg(long, value_name = "FOLDER", help_heading = "Model")]
    pub allow_read: Vec<PathBuf>,
    /// Take the samples of an input from this file instead of its own (repeatable)
    #[arg(long, value_name = "INPUT=FILE", help_heading = "Model")]
    pub data: Vec<String>,
    /// Run N points drawn from the ranges instead of a grid (`k=0.1:1`, or `k=0.1:1:log` for one uniform in the logarithm)
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Sweep")]
    pub random: Option<String>,
    /// Other numbers draw other points
    #[arg(long, value_name = "N", allow_hyphen_values = true, requires = "random", help_heading = "Sweep")]
    pub seed: Option<String>,
    /// Threads; as many as there are cores if not given. The rows do not depend on it
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Sweep")]
    pub threads: Option<String>,
    /// Make part K of N parts, counted from 0, and write it into the folder of `-o`; a part that is there already is left alone
    #[arg(long, value_name = "K/N", allow_hyphen_values = true, requires = "output", help_heading = "Sweep")]
    pub shard: Option<String>,
    /// Join the parts in this folder: the rows are those of the whole sweep on one machine
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["file", "shard", "set", "random"], help_heading = "Sweep")]
    pub join: Option<PathBuf>,
    /// The run. Without `--samples` each run gives one row, at its end
    #[command(flatten)]
    pub block: RunBlock,
    /// Write the rows to a file instead of standard output
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// Write the counts and the time of each run, and their totals, as JSON; `-` is standard output (the rows then need -o)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub stats: Option<PathBuf>,
}

/// `odec check`
#[derive(Args, Debug)]
pub struct Check {
    /// The model.
    #[command(flatten)]
    pub model: Model,
    /// Compare the symbolic derivatives with dual numbers and with differences
    #[arg(long)]
    pub derivatives: bool,
    /// List what ends a step: times that are known before a run, samples of inputs, surfaces that are located in it, events
    #[arg(long)]
    pub stops: bool,
    /// Make the corrections that were tried, and write the file; of standard input, write it on standard output
    #[arg(long)]
    pub fix: bool,
}

/// `odec test`
#[derive(Args, Debug)]
pub struct Test {
    /// The model.
    #[command(flatten)]
    pub model: Model,
    /// The run.
    #[command(flatten)]
    pub block: RunBlock,
}

/// `odec plot`
#[derive(Args, Debug)]
pub struct Plot {
    /// The model.
    #[command(flatten)]
    pub model: Model,
    /// What to draw: states and outputs, `u[3]` or `u[*,5]` of arrays, one against another as `x:y` or `p[*].x:p[*].y`; all that
    /// is recorded if none is named
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// What to draw all of them against, instead of time
    #[arg(short, long, value_name = "NAME", help_heading = "Plot")]
    pub x: Option<String>,
    /// Draw an array against its index at these times, `0,1,5`
    #[arg(long, value_name = "TIMES", allow_hyphen_values = true, help_heading = "Plot")]
    pub at: Option<String>,
    /// Logarithmic axes: `none`, `x`, `y`, `xy`; if not given, that of time where the samples are
    #[arg(hide_possible_values = true, long, value_enum, value_name = "AXES", help_heading = "Plot")]
    pub log: Option<LogAxes>,
    /// Width and height in pixels; as large as the panels need if not given, 1200x750 for most
    #[arg(long, value_name = "WxH", help_heading = "Plot")]
    pub size: Option<String>,
    /// The run.
    #[command(flatten)]
    pub block: RunBlock,
    /// The picture, `.svg` or `.png`; the model's name with .svg if not given
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
}

/// Where and how large a picture is.
#[derive(Args, Debug)]
pub struct Figure {
    /// The picture, `.svg` or `.png`; repeat it for both. The default is .svg in the working directory
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Vec<PathBuf>,
    /// Width and height in pixels
    #[arg(long, value_name = "WxH", default_value = "1100x750", help_heading = "Output")]
    pub size: String,
}

/// `odec stability`
#[derive(Args, Debug)]
pub struct Stability {
    /// The model (.ode) whose steps to show, if any; `-` reads standard input
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Another value of a parameter, constant or initial value
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Model")]
    pub set: Vec<String>,
    /// Use the values of `params NAME { ... }`
    #[arg(long, value_name = "NAME", help_heading = "Model")]
    pub params: Option<String>,
    /// Look for the files that `use` names in this folder too, after that of the file that uses them (repeatable)
    #[arg(long, value_name = "FOLDER", help_heading = "Model")]
    pub path: Vec<PathBuf>,
    /// Let the model read tables from this folder too, beside its own (repeatable)
    #[arg(long, value_name = "FOLDER", help_heading = "Model")]
    pub allow_read: Vec<PathBuf>,
    /// Take the samples of an input from this file instead of its own (repeatable)
    #[arg(long, value_name = "INPUT=FILE", help_heading = "Model")]
    pub data: Vec<String>,
    /// The run.
    #[command(flatten)]
    pub block: RunBlock,
    /// The picture.
    #[command(flatten)]
    pub figure: Figure,
}

/// `odec steady`
#[derive(Args, Debug)]
pub struct Steady {
    /// The model; `--set x=-5:5` draws the starts of a state from a range.
    #[command(flatten)]
    pub model: Model,
    /// Start from N random states too, drawn about the initial values, or from the ranges of `--set x=-5:5`
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=odec_sim::steady::MAX_STARTS), help_heading = "Search")]
    pub starts: u64,
    /// Other numbers draw other states
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Search")]
    pub seed: u64,
}

/// `odec order`
#[derive(Args, Debug)]
pub struct Order {
    /// The model.
    #[command(flatten)]
    pub model: Model,
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
    pub model: Model,
    /// Methods, with commas between them, or `all`; some of each family if not given. With `--step H` they take constant
    /// steps, else the error decides
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = "Comparison")]
    pub methods: Vec<String>,
    /// What the picture shows against the error
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
    pub model: Model,
    /// Methods, with commas between them; the default of a run and some of the fastest if not given
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = "Measurement")]
    pub methods: Vec<String>,
    /// Relative tolerances; the absolute ones follow in proportion
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', help_heading = "Measurement")]
    pub rtols: Vec<String>,
    /// Runs of each; fewer where they take more than 10 seconds together
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..), help_heading = "Measurement")]
    pub repeat: u32,
    /// Write the table as JSON, times in seconds
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
    /// Steps, also those that were rejected
    Steps,
}

/// `odec field`
#[derive(Args, Debug)]
pub struct Field {
    /// The model.
    #[command(flatten)]
    pub model: Model,
    /// State on the horizontal axis; the first if not given
    #[arg(value_name = "X")]
    pub x: Option<String>,
    /// State on the vertical axis; the second if not given
    #[arg(value_name = "Y")]
    pub y: Option<String>,
    /// Ends of the horizontal axis; about the run if not given
    #[arg(long, value_name = "LOW..HIGH", allow_hyphen_values = true, help_heading = "Field")]
    pub x_range: Option<String>,
    /// Ends of the vertical axis
    #[arg(long, value_name = "LOW..HIGH", allow_hyphen_values = true, help_heading = "Field")]
    pub y_range: Option<String>,
    /// Time at which the field is drawn, and the other states are held; the start if not given
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
    pub model: Model,
    /// Which stage
    #[arg(long, value_enum, default_value_t = Stage::Ir)]
    pub stage: Stage,
}

/// Stages of the compiler.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The syntax tree
    Tree,
    /// Reactions, their stoichiometric matrix, and what they conserve
    Reactions,
    /// The checked model, with the equations that follow from reactions
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
    pub model: Model,
    /// The form; `object` and `c` come with a C header of the same name
    #[arg(long, value_enum)]
    pub to: Target,
    /// The file; the model's name with the form's extension if not given
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// What every C name begins with; made from the model's name if not given
    #[arg(long, value_name = "NAME")]
    pub prefix: Option<String>,
}

/// What `emit` writes.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Relocatable object of this machine, and a header
    Object,
    /// C source, and a header
    C,
    /// FMU of FMI 3.0 for model exchange: one file for other simulators
    Fmu,
    /// Cranelift's text
    Clif,
    /// Disassembly
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
    /// The code, as `E0201`; all codes if not given
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
    /// Write the model to a file instead of standard output
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
}

/// `odec export`
#[derive(Args, Debug)]
pub struct Export {
    #[command(flatten)]
    pub model: Model,
    /// What to write: `sbml`
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
