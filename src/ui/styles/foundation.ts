/**
 * Colours, type, and the frame of a page: side navigation, header, content.
 */
export const FOUNDATION_STYLES = `
:root {
  color-scheme: light dark;
  --bg: light-dark(#f6f7f9, #0e1116);
  --surface: light-dark(#ffffff, #161b22);
  --raised: light-dark(#f1f3f6, #1d232c);
  --line: light-dark(#e1e5ea, #2a313c);
  --line-strong: light-dark(#8792a2, #6b7686);
  --text: light-dark(#16202e, #e6eaf0);
  --quiet: light-dark(#566173, #9aa5b4);
  --accent: light-dark(#2450d8, #86a5ff);
  --accent-solid: light-dark(#2f5bea, #3d66ea);
  --accent-soft: light-dark(#e9eefe, #1b2748);
  --good: light-dark(#0d6b3f, #58c48d);
  --good-soft: light-dark(#e2f5ea, #12301f);
  --warn: light-dark(#87520a, #e5ae54);
  --warn-soft: light-dark(#fdf1dc, #35270d);
  --bad: light-dark(#b3261e, #ff8f86);
  --bad-soft: light-dark(#fdeceb, #3a1715);
  --s0: light-dark(#2f5bea, #6f93ff);
  --s1: light-dark(#12a594, #35c9b6);
  --s2: light-dark(#e08a00, #f0a939);
  --s3: light-dark(#c2417f, #ec77ad);
  --radius: 10px;
  --font: "Inter Variable", system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Liberation Sans", Arial, sans-serif;
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace;
}
:root[data-theme="light"] { color-scheme: light; }
:root[data-theme="dark"] { color-scheme: dark; }
*, *::before, *::after { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body { margin: 0; background: var(--bg); color: var(--text); font: 14px/1.5 var(--font); overflow-wrap: anywhere; }
h1, h2, h3, p, ul, ol, dl, dd, figure, pre { margin: 0; }
h1 { font-size: 22px; line-height: 1.25; font-weight: 650; letter-spacing: -0.015em; }
h2 { font-size: 15px; line-height: 1.35; font-weight: 620; letter-spacing: -0.005em; }
h3 { font-size: 14px; font-weight: 600; }
a { color: var(--accent); text-underline-offset: 3px; text-decoration-thickness: 1px; text-decoration-color: color-mix(in srgb, currentColor 35%, transparent); }
a:hover { text-decoration-color: currentColor; }
code, .mono, pre { font-family: var(--mono); font-size: 12.5px; }
code { background: var(--raised); border-radius: 4px; padding: 1px 5px; }
.num { font-variant-numeric: tabular-nums; }
.quiet { color: var(--quiet); }
.hint { font-size: 12.5px; font-weight: 400; }
[hidden] { display: none !important; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
.skip { position: absolute; left: 12px; top: -60px; background: var(--surface); padding: 8px 14px; border-radius: 6px; z-index: 3; }
.skip:focus { top: 12px; }

.frame { display: grid; grid-template-columns: 236px minmax(0, 1fr); min-height: 100vh; }
.side { border-right: 1px solid var(--line); background: var(--surface); }
.side-rest { padding: 16px 12px; position: sticky; top: 0; height: 100vh; overflow-y: auto; display: flex; flex-direction: column; gap: 12px; }
.brand { display: flex; align-items: center; gap: 10px; font-weight: 650; font-size: 15px; letter-spacing: -0.01em; color: var(--text); text-decoration: none; padding: 0 6px; }
.brand img { width: 26px; height: 26px; }
.side nav { display: flex; flex-direction: column; gap: 10px; padding-top: 2px; }
.side h2 { font-size: 12px; letter-spacing: 0; color: var(--quiet); font-weight: 600; padding: 0 8px 3px; }
.side ul { list-style: none; padding: 0; display: grid; gap: 1px; }
.side li a { display: block; padding: 3px 8px; border-radius: 6px; color: var(--text); text-decoration: none; }
.side li a:hover { background: var(--raised); }
.side li a[aria-current] { background: var(--accent-soft); color: var(--accent); font-weight: 600; }
.side search { margin: 0; }
.side-search input { min-height: 34px; background: var(--raised); border-color: transparent; }
.side-search input:hover { border-color: var(--line-strong); }
.switcher { position: relative; }
.switcher > summary { display: flex; align-items: center; gap: 8px; list-style: none; cursor: pointer; border: 1px solid var(--line); border-radius: 7px; padding: 5px 10px; font-weight: 600; min-height: 36px; }
.switcher > summary::-webkit-details-marker { display: none; }
.switcher > summary:hover { background: var(--raised); }
.switcher > summary::after { content: ""; flex: none; width: 7px; height: 7px; border: solid var(--quiet); border-width: 0 1.5px 1.5px 0; transform: translateY(-2px) rotate(45deg); margin-right: 3px; }
.switcher-name { flex: 1; min-width: 0; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.switcher > ul { position: absolute; z-index: 4; inset: calc(100% + 4px) 0 auto; max-height: 60vh; overflow-y: auto; padding: 5px; background: var(--surface); border: 1px solid var(--line-strong); border-radius: 8px; box-shadow: 0 8px 24px rgb(0 0 0 / 16%); }
.switcher .apart { border-top: 1px solid var(--line); margin-top: 4px; padding-top: 4px; }
.side .sign-out { margin-top: auto; padding: 4px 0 0; }
.side .sign-out button { width: 100%; }
.side-menu { display: none; }
.palette { width: min(620px, calc(100vw - 32px)); margin: 12vh auto auto; max-height: 70vh; padding: 10px; border: 1px solid var(--line-strong); border-radius: 12px; background: var(--surface); color: var(--text); box-shadow: 0 18px 60px rgb(0 0 0 / 30%); }
.palette[open] { display: flex; flex-direction: column; gap: 8px; }
.palette::backdrop { background: rgb(10 14 20 / 45%); }
.palette > input { flex: none; min-height: 42px; font-size: 16px; }
.palette [role="listbox"] { overflow-y: auto; min-height: 0; }
.palette > .hint { padding: 0 8px 2px; }
.palette > .hint:empty { display: none; }
.found-title { padding: 8px 8px 3px; font-size: 12px; font-weight: 600; color: var(--quiet); }
[role="option"] { display: flex; flex-wrap: wrap; gap: 0 12px; justify-content: space-between; padding: 6px 8px; border-radius: 6px; color: var(--text); text-decoration: none; }
[role="option"] .quiet { font-size: 12.5px; }
[role="option"]:hover { background: var(--raised); }
[role="option"][aria-selected="true"] { background: var(--accent-soft); box-shadow: inset 2px 0 var(--accent); }
.hits { list-style: none; padding: 0; display: grid; gap: 6px; }
#tip { position: fixed; z-index: 9; max-width: min(360px, calc(100vw - 16px)); padding: 5px 9px; border-radius: 6px; background: var(--text); color: var(--surface); border: 1px solid var(--text); font-size: 12.5px; line-height: 1.4; font-variant-numeric: tabular-nums; }
[data-tip] { cursor: help; }
:is(a, button, summary) [data-tip] { cursor: inherit; }
.main { padding: 26px 32px 60px; max-width: 1320px; width: 100%; display: grid; gap: 18px; align-content: start; grid-template-columns: minmax(0, 1fr); }
.crumbs { font-size: 13px; color: var(--quiet); }
.crumbs ol { list-style: none; display: flex; flex-wrap: wrap; gap: 2px 8px; padding: 0; }
.crumbs li + li::before { content: "/"; margin-right: 8px; color: var(--line-strong); }
.crumbs a { color: var(--quiet); }
.page-head { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: end; gap: 10px 20px; }
.page-head .sub { color: var(--quiet); margin-top: 3px; }
.page-tabs { display: flex; flex-wrap: wrap; gap: 0 22px; border-bottom: 1px solid var(--line); }
.page-tabs a { padding: 8px 0 10px; color: var(--quiet); text-decoration: none; font-weight: 550; }
.page-tabs a:hover { color: var(--text); }
.page-tabs a[aria-current] { color: var(--text); padding-bottom: 8px; border-bottom: 2px solid var(--accent); margin-bottom: -1px; }
@media (max-width: 480px) { .page-tabs { gap: 0 15px; } }
.toolbar { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: center; gap: 8px 16px; }
.grid.ragged { align-items: start; }
.sentences { list-style: none; padding: 0; display: grid; gap: 6px; }
.actions { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; }

.alone { min-height: 100vh; display: grid; place-items: center; padding: 20px; }
.alone .card { width: min(400px, 100%); padding: 28px; gap: 18px; }
.alone .brand { padding: 0; font-size: 17px; }

@media (max-width: 860px) {
  .frame { grid-template-columns: minmax(0, 1fr); grid-template-rows: auto 1fr; min-height: 0; }
  .side { border-right: 0; border-bottom: 1px solid var(--line); padding: 10px 16px; }
  .side-rest { display: none; }
  .side-menu { display: block; }
  .side-menu > summary { display: flex; justify-content: space-between; align-items: center; list-style: none; cursor: pointer; padding: 4px 0; }
  .side-menu > summary::-webkit-details-marker { display: none; }
  .side-menu > summary .menu-word { border: 1px solid var(--line); border-radius: 6px; padding: 4px 12px; font-weight: 550; }
  .side-menu > div { display: grid; gap: 16px; padding: 14px 0 8px; }
  .main { padding: 18px 16px 40px; }
}
@media (prefers-reduced-motion: no-preference) {
  a, button, .button, input, select, textarea { transition: background-color 0.12s, border-color 0.12s; }
}
`;
