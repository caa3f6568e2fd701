//! Problems with events, switches and times at which the right-hand side jumps, with their solutions at the end.
//!
//! References: closed forms, or Radau IIA of order 13 and extrapolation in quadruple precision, for DETEST F (Hull, Enright, Fellen &
//! Sedgwick, SIAM J. Numer. Anal. 9 (1972)) to the doses; below that closed forms, or extrapolation of order 28 in extended
//! precision with bisected events. 16 digits agree.

/// Model without its run, and its state at the end, where events may have stopped it.
pub struct Problem {
    pub name: &'static str,
    pub text: &'static str,
    pub t_end: f64,
    pub end: &'static [f64],
    /// True for methods with a Jacobian only.
    pub stiff: bool,
}

#[rustfmt::skip]
pub const PROBLEMS: &[Problem] = &[
    Problem {
        name: "DETEST F1",
        text: "state y1=0, y2=0\n\
               y1' = y2\n\
               y2' = 0.2*y2 - (pi^2 + 0.01)*y1 + (if mod(t, 2) < 1 then 1 else -1)\n",
        t_end: 20.0,
        end: &[-12.944606212134735, 9.151060561849958e-21],
        stiff: false,
    },
    Problem {
        name: "DETEST F2",
        text: "state y=110\n\
               y' = 55 - (if mod(floor(t), 2) < 0.5 then 1.5 else 0.5)*y\n",
        t_end: 20.0,
        end: &[70.03731057008606],
        stiff: false,
    },
    Problem {
        name: "DETEST F3",
        text: "state y1=0, y2=0\n\
               y1' = y2\n\
               y2' = 0.01*y2*(1 - y1^2) - y1 - abs(sin(pi*t))\n",
        t_end: 20.0,
        end: &[-0.37269575530881777, -0.6230137949234194],
        stiff: false,
    },
    Problem {
        name: "DETEST F4",
        text: "state y=1\n\
               y' = if t <= 10 then -2/21 - 120*(t - 5)/(1 + 4*(t - 5)^2)^16 else -2*y\n",
        t_end: 20.0,
        end: &[9.815017249707418e-11],
        stiff: false,
    },
    Problem {
        name: "DETEST F5",
        text: "index i = 1..19\n\
               state y = 1\n\
               c = sum(i: i^(4/3))\n\
               y' = 4/(3*c)*sum(i: cbrt(t - i))*y\n",
        t_end: 20.0,
        end: &[1.0],
        stiff: false,
    },
    Problem {
        name: "bouncing ball",
        text: "state h=10, v=0\n\
               h' = v\n\
               v' = -9.81\n\
               when h < 0 { v := -0.9*v }\n",
        t_end: 10.0,
        end: &[2.1006464276895027, -6.575939757231049],
        stiff: false,
    },
    Problem {
        name: "thermostat",
        text: "state T=15\n\
               discrete m=1\n\
               T' = -0.2*(T - 10) + 4*m\n\
               when T > 22 { m := 0 }\n\
               when T < 18 { m := 1 }\n",
        t_end: 30.0,
        end: &[19.145695660695452],
        stiff: false,
    },
    Problem {
        name: "Coulomb friction",
        text: "state x=2.05, v=0\n\
               discrete s=-1\n\
               x' = v\n\
               v' = -x - 0.1*s\n\
               when v > 0 { s := 1 }\n\
               when v < 0 { s := -1 }\n",
        t_end: 8.0,
        end: &[-0.12552505240335096, -1.5335052822662418],
        stiff: false,
    },
    Problem {
        name: "neuron",
        text: "state v=-65\n\
               v' = (-(v + 65) + 20)/10\n\
               when v > -50 { v := -70 }\n",
        t_end: 100.0,
        end: &[-59.18747805077652],
        stiff: false,
    },
    Problem {
        name: "valve",
        text: "state p=1, T=0\n\
               discrete m=0\n\
               p' = -2*m*(p - 1) + 0.5 + 0.1*sin(t)\n\
               T' = -1000*(T - p)\n\
               when p > 3 { m := 1 }\n\
               when p < 1.5 { m := 0 }\n",
        t_end: 20.0,
        end: &[2.3735349277619657, 2.375695064264882],
        stiff: true,
    },
    Problem {
        name: "van der Pol, fifth crossing",
        text: "state x=2, v=0\n\
               discrete n=0\n\
               x' = v\n\
               v' = (1 - x^2)*v - x\n\
               when x > 0 { n += 1 }\n\
               when n >= 5 { stop \"fifth\" }\n",
        t_end: 60.0,
        end: &[0.0, 2.1727136926225468],
        stiff: false,
    },
    Problem {
        name: "projectile",
        text: "state x=0, y=0, u=30, v=30\n\
               d = 0.01*sqrt(u^2 + v^2)\n\
               x' = u\n\
               y' = v\n\
               u' = -d*u\n\
               v' = -9.81 - d*v\n\
               when y < 0 { stop \"ground\" }\n",
        t_end: 20.0,
        end: &[83.10697407300103, 0.0, 10.570545352481126, -19.877740496910803],
        stiff: false,
    },
    Problem {
        name: "doses",
        text: "state D=0, C=0\n\
               D' = -1.2*D\n\
               C' = 1.2*D/20 - 0.15*C\n\
               every 12 from 0 until 90 { D += 100 }\n",
        t_end: 96.0,
        end: &[5.5739067995365675e-05, 1.1316169070987987],
        stiff: false,
    },
    Problem {
        name: "Hodgkin and Huxley",
        text: "state V=-65, m=0.0529, h=0.5961, n=0.3177\n\
               I = if t < 5 then 0 else if t < 40 then 10 else 0\n\
               am = 0.1*(V + 40)/(1 - exp(-(V + 40)/10))\n\
               bm = 4*exp(-(V + 65)/18)\n\
               ah = 0.07*exp(-(V + 65)/20)\n\
               bh = 1/(1 + exp(-(V + 35)/10))\n\
               an = 0.01*(V + 55)/(1 - exp(-(V + 55)/10))\n\
               bn = 0.125*exp(-(V + 65)/80)\n\
               V' = I - 120*m^3*h*(V - 50) - 36*n^4*(V + 77) - 0.3*(V + 54.387)\n\
               m' = am*(1 - m) - bm*m\n\
               h' = ah*(1 - h) - bh*h\n\
               n' = an*(1 - n) - bn*n\n",
        t_end: 50.0,
        end: &[-66.47464055731454, 0.04358361008472094, 0.5955849866190919, 0.31242153322021204],
        stiff: false,
    },
    Problem {
        name: "ball with drag",
        text: "h'' = -9.81 - 0.3*h'\n\
               state h=3, h'=0\n\
               when h < 0 { h := 0; h' := -0.8*h' }\n",
        t_end: 4.0,
        end: &[0.11912696127033766, -0.7401192233811562],
        stiff: false,
    },
    Problem {
        name: "oscillator against a wall",
        text: "state x=0, v=0\n\
               x' = v\n\
               v' = -4*x - 0.1*v + 2*sin(t)\n\
               when x > 0.6 { x := 0.6; v := -0.7*v }\n",
        t_end: 8.0,
        end: &[0.20429779596170972, 0.03959843010481668],
        stiff: false,
    },
    Problem {
        name: "relay with hysteresis",
        text: "state x=0, v=0\n\
               discrete u=1\n\
               x' = v\n\
               v' = -x - 0.5*v + u\n\
               when x > 0.3 { u := -1 }\n\
               when x < -0.3 { u := 1 }\n",
        t_end: 12.0,
        end: &[0.459893907344674, 0.892484593403428],
        stiff: false,
    },
    Problem {
        name: "sliding friction",
        text: "state x=3, v=0.5\n\
               x' = v\n\
               v' = -x - 0.2*sign(v)\n",
        t_end: 9.0,
        end: &[-1.5056542790075136, -1.116941719592642],
        stiff: false,
    },
    Problem {
        name: "two springs",
        text: "state x=1, v=0\n\
               x' = v\n\
               v' = -(if x > 0 then 4 else 1)*x\n",
        t_end: 12.0,
        end: &[-1.9522184109400382, 0.43456101526339463],
        stiff: false,
    },
    Problem {
        name: "stop of rubber",
        text: "state x=0, v=1\n\
               x' = v\n\
               v' = -x - 5*max(x - 0.5, 0) + 0.3*cos(1.7*t)\n",
        t_end: 10.0,
        end: &[0.05997586262024806, 0.863789628000936],
        stiff: false,
    },
    Problem {
        name: "rectified forcing",
        text: "state x=0\n\
               x' = -x + max(sin(t), 0)\n",
        t_end: 15.0,
        end: &[0.7508277358822992],
        stiff: false,
    },
    Problem {
        name: "half wave",
        text: "state x=1\n\
               x' = -max(x, 0) + cos(2*t) - 0.2\n",
        t_end: 10.0,
        end: &[-1.4389008456230088],
        stiff: false,
    },
    Problem {
        name: "train of pulses",
        text: "state x=0\n\
               x' = -x + 10*(if mod(t, 2) < 0.25 then 1 else 0)\n",
        t_end: 19.0,
        end: &[1.2084118772109091],
        stiff: false,
    },
    Problem {
        name: "two compartments",
        text: "state g=0, a=0, b=0\n\
               g' = -1.1*g\n\
               a' = 1.1*g - 0.3*a - 0.2*a + 0.1*b\n\
               b' = 0.2*a - 0.1*b\n\
               every 6 from 1 until 20 { g += 100 }\n",
        t_end: 24.0,
        end: &[0.40923385249782773, 30.6084948890719, 79.70274083563515],
        stiff: false,
    },
    Problem {
        name: "driven neuron",
        text: "state v=0\n\
               v' = -v + 1.5 + 0.5*sin(t)\n\
               when v > 1 { v := 0 }\n",
        t_end: 20.0,
        end: &[0.9716738497823822],
        stiff: false,
    },
    Problem {
        name: "harvest",
        text: "state x=1\n\
               discrete h=0\n\
               x' = x*(1 - x/10) - h\n\
               when x > 8 { h := 4 }\n\
               when x < 4 { h := 0 }\n",
        t_end: 25.0,
        end: &[6.605196330124603],
        stiff: false,
    },
    Problem {
        name: "culled prey",
        text: "state x=1, y=1\n\
               x' = x*(1 - y)\n\
               y' = y*(0.6*x - 0.8)\n\
               when x > 1.5 { x := x/2 }\n",
        t_end: 12.0,
        end: &[1.0114723306411064, 0.1698065625648022],
        stiff: false,
    },
    Problem {
        name: "tank with a weir",
        text: "state h=0.2\n\
               discrete q=1\n\
               h' = q - 0.1*h - 0.5*max(h - 1, 0)\n\
               when h > 1.5 { q := 0.1 }\n\
               when h < 0.9 { q := 1 }\n",
        t_end: 20.0,
        end: &[1.0000076811965481],
        stiff: false,
    },
    Problem {
        name: "room and sensor",
        text: "state T=15, S=15\n\
               discrete m=1\n\
               T' = -0.2*(T - 10) + 4*m\n\
               S' = -100*(S - T)\n\
               when T > 22 { m := 0 }\n\
               when T < 18 { m := 1 }\n",
        t_end: 20.0,
        end: &[20.561720319735002, 20.58288609191884],
        stiff: true,
    },
    Problem {
        name: "fed reactor",
        text: "state a=1, b=0, c=0\n\
               a' = -0.4*a + 100*b*c\n\
               b' = 0.4*a - 100*b*c - 300*b^2\n\
               c' = 300*b^2\n\
               at [2, 4, 6] { a += 0.25 }\n",
        t_end: 8.0,
        end: &[1.2704623402799298, 0.01018228171412873, 0.4693553780059414],
        stiff: true,
    },
    Problem {
        name: "Chua, a short time",
        text: "state x=0.7, y=0, z=0\n\
               x' = 9*(y - x - (-5/7*x - 3/14*(abs(x + 1) - abs(x - 1))))\n\
               y' = x - y + z\n\
               z' = -14*y\n",
        t_end: 2.0,
        end: &[0.04936741492864961, -0.24872711547094797, 0.33875278336078746],
        stiff: false,
    },
    Problem {
        name: "pendulum with a peg",
        text: "state q=1, w=0\n\
               q' = w\n\
               w' = -sin(q)*9.81/(if q > 0 then 1 else 0.5)\n",
        t_end: 6.0,
        end: &[-0.187694284759429, -2.8861912182351857],
        stiff: false,
    },
    Problem {
        name: "late order",
        text: "state x=1\n\
               x' = -x\n\
               when x < 0.5 after 0.5 { x += 1 }\n",
        t_end: 8.0,
        end: &[0.4916935805539261],
        stiff: false,
    },
    Problem {
        name: "spiral in a circle",
        text: "state x=1, v=0\n\
               x' = 0.2*x - v\n\
               v' = x + 0.2*v\n\
               when x^2 + v^2 > 4 { x := x/2; v := v/2 }\n",
        t_end: 20.0,
        end: &[0.6962664261475755, 1.5576600553522968],
        stiff: false,
    },
    Problem {
        name: "product of two states",
        text: "state x=1, y=0\n\
               x' = -y + 0.1*x*(if x*y > 0.25 then 1 else -1)\n\
               y' = x\n",
        t_end: 12.0,
        end: &[0.5267110584506108, -0.6129637134049474],
        stiff: false,
    },
    Problem {
        name: "boost converter",
        text: "state i=0, v=5\n\
               discrete u=1\n\
               i' = 5 - (1 - u)*v\n\
               v' = 2*(1 - u)*i - 0.2*v\n\
               every 0.5 from 0.25 { u := 1 - u }\n",
        t_end: 15.0,
        end: &[1.5206621624778194, 10.69217409853773],
        stiff: false,
    },
    Problem {
        name: "angle of a rotation",
        text: "state x=1, y=0, z=0\n\
               x' = -y\n\
               y' = x\n\
               z' = atan2(y, x)\n",
        t_end: 10.0,
        end: &[-0.8390715290764524, -0.5440211108893698, 3.2931290651231393],
        stiff: false,
    },
    Problem {
        name: "angle of a rotation back, in front of its cut",
        text: "state x=1, y=0, z=0\n\
               x' = y\n\
               y' = -x\n\
               z' = mod(atan2(y, x) - 1, 2*pi)\n",
        t_end: 10.0,
        end: &[-0.8390715290764524, 0.5440211108893698, 32.46847384641388],
        stiff: false,
    },
    Problem {
        name: "ozone by day and night",
        text: "state y1=1e6, y2=1e12\n\
               w = pi/43200\n\
               k3 = if sin(w*t) > 0 then exp(-22.62/sin(w*t)) else 0\n\
               k4 = if sin(w*t) > 0 then exp(-7.601/sin(w*t)) else 0\n\
               y1' = -1.63e-16*3.7e16*y1 - 4.66e-16*y1*y2 + 2*3.7e16*k3 + k4*y2\n\
               y2' = 1.63e-16*3.7e16*y1 - 4.66e-16*y1*y2 - k4*y2\n",
        t_end: 367200.0,
        end: &[113490858.10090086, 1346993838158.3975],
        stiff: true,
    },
];
