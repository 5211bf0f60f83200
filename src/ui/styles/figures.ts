/**
 * Charts, bars, meters, timelines.
 */
export const FIGURE_STYLES = `
.s0 { --ink: var(--s0); } .s1 { --ink: var(--s1); } .s2 { --ink: var(--s2); } .s3 { --ink: var(--s3); }
.bar.good { --ink: var(--s0); } .bar.warn { --ink: var(--s2); } .bar.bad { --ink: var(--bad); }
.chart { display: grid; gap: 10px; min-width: 0; }
.chart-body { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: 6px 10px; }
.chart-body svg { width: 100%; height: 190px; display: block; overflow: visible; }
.y-axis, .x-axis, .legend { list-style: none; padding: 0; display: flex; color: var(--quiet); font-size: 12px; font-variant-numeric: tabular-nums; }
.y-axis { flex-direction: column; justify-content: space-between; text-align: right; line-height: 1; margin: -6px 0; min-width: 34px; }
.x-axis { justify-content: space-between; gap: 8px; }
.x-axis li { white-space: nowrap; min-width: 0; overflow: hidden; text-overflow: ellipsis; }
line.rule { stroke: var(--line); stroke-width: 1; vector-effect: non-scaling-stroke; }
line.rule.zero { stroke: var(--line-strong); }
.bars rect { fill: var(--ink); }
.bars rect.below { fill: var(--bad); }
.bars rect.open { fill: var(--ink); fill-opacity: 0.3; stroke: var(--ink); stroke-width: 1.5; stroke-dasharray: 4 3; vector-effect: non-scaling-stroke; }
.lacking rect { fill: var(--bad); }
.previous { fill: none; stroke: var(--text); stroke-opacity: 0.55; stroke-width: 1.5; vector-effect: non-scaling-stroke; }
.plot { position: relative; min-width: 0; }
.marks { list-style: none; padding: 0; margin: 0; position: absolute; inset: 0; display: flex; }
.marks li { flex: 1 1 0; min-width: 0; position: relative; }
.marks a, .marks li > span { position: absolute; inset: 0; color: inherit; text-decoration: none; }
.marks :is(a, li > span):is(:hover, :focus-visible) { background: color-mix(in srgb, var(--text) 9%, transparent); }
.values { display: none; position: absolute; bottom: 100%; z-index: 2; gap: 2px; width: max-content; max-width: min(280px, 60vw); padding: 8px 11px; border-radius: 8px; background: var(--surface); border: 1px solid var(--line-strong); box-shadow: 0 6px 18px rgb(0 0 0 / 14%); font-size: 12.5px; pointer-events: none; overflow-wrap: anywhere; }
.first .values { left: 0; } .second .values { right: 0; }
.marks :is(a, li > span):is(:hover, :focus) > .values { display: grid; }
.edge { fill: none; stroke: var(--ink); stroke-width: 2; vector-effect: non-scaling-stroke; stroke-linejoin: round; }
.legend { flex-wrap: wrap; gap: 4px 16px; }
.key { display: flex; align-items: center; gap: 6px; }
.key::before { content: ""; width: 10px; height: 10px; border-radius: 3px; background: var(--ink); }
.key.before::before { height: 0; border-radius: 0; border-top: 2px solid var(--text); opacity: 0.55; background: none; }
.key.lacking::before { height: 4px; border-radius: 1px; background: var(--bad); }
.key.open::before { background: color-mix(in srgb, var(--ink) 30%, transparent); border: 1px dashed var(--ink); box-sizing: border-box; }
.figures { font-size: 13px; }
.figures > summary { cursor: pointer; color: var(--quiet); width: fit-content; }
.figures[open] > summary { margin-bottom: 8px; }
.figures table { display: block; max-height: 260px; overflow-y: auto; }
.figures th, .figures td { padding: 4px 14px 4px 0; }
.loss .num { color: var(--bad); }
.whole { white-space: nowrap; }
td > .spark { min-width: 84px; }
.spark rect { fill: var(--ink); }
.spark { width: 100%; max-width: 140px; height: 26px; display: block; }
.ranking { list-style: none; padding: 0; display: grid; gap: 12px; }
.ranking-row { display: flex; justify-content: space-between; gap: 14px; margin-bottom: 4px; align-items: baseline; }
.ranking-name { min-width: 0; }
.ranking-value { text-align: right; flex: none; font-weight: 560; }
.ranking-sub { font-size: 12.5px; color: var(--quiet); margin-top: 3px; }
.bar { width: 100%; height: 6px; display: block; border-radius: 3px; overflow: hidden; }
.bar-back { fill: var(--raised); }
.bar-front { fill: var(--ink); }
.unlimited { height: 6px; border-radius: 3px; background: repeating-linear-gradient(90deg, var(--line) 0 6px, transparent 6px 10px); }
.meters { display: grid; gap: 14px 28px; grid-template-columns: repeat(auto-fill, minmax(240px, 1fr)); }
.meter-head { display: flex; justify-content: space-between; gap: 10px; margin-bottom: 5px; align-items: baseline; }
.meter-name { font-weight: 560; }
.meter-foot { font-size: 12.5px; color: var(--quiet); margin-top: 3px; }
.progress { display: flex; gap: 12px; align-items: center; }
progress { flex: 1; height: 10px; appearance: none; border: 0; border-radius: 5px; overflow: hidden; background: var(--raised); }
progress::-webkit-progress-bar { background: var(--raised); }
progress::-webkit-progress-value { background: var(--accent-solid); }
progress::-moz-progress-bar { background: var(--accent-solid); }
.timeline { list-style: none; padding: 0; display: grid; gap: 0; }
.timeline li { display: grid; grid-template-columns: 16px minmax(0, 1fr); gap: 12px; padding-bottom: 16px; position: relative; }
.timeline li:last-child { padding-bottom: 0; }
.timeline li::before { content: ""; width: 10px; height: 10px; border-radius: 50%; background: var(--ink, var(--line-strong)); margin: 5px 3px 0; z-index: 1; }
.timeline li:not(:last-child)::after { content: ""; position: absolute; left: 7px; top: 14px; bottom: -6px; width: 2px; background: var(--line); }
.timeline .good { --ink: var(--good); } .timeline .warn { --ink: var(--s2); } .timeline .bad { --ink: var(--bad); } .timeline .future { --ink: var(--surface); }
.timeline .future::before { border: 2px solid var(--line-strong); }
.compare { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 18px; }
@media (max-width: 760px) { .compare { grid-template-columns: minmax(0, 1fr); } .chart-body svg { height: 150px; } .x-axis li { white-space: normal; text-align: center; } .x-axis li:first-child { text-align: left; } .x-axis li:last-child { text-align: right; } }
`;
