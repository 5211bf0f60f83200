/**
 * Cards, figures, forms, notices.
 */
export const COMPONENT_STYLES = `
.grid { display: grid; gap: 18px; grid-template-columns: repeat(12, minmax(0, 1fr)); }
.grid > * { grid-column: span 6; min-width: 0; }
.grid > .wide { grid-column: 1 / -1; }
.grid.thirds > * { grid-column: span 4; }
.grid.thirds > .wide { grid-column: 1 / -1; }
.stack { display: grid; gap: 18px; grid-template-columns: minmax(0, 1fr); align-content: start; }
.card { background: var(--surface); border: 1px solid var(--line); border-radius: var(--radius); padding: 16px 18px; display: grid; gap: 14px; align-content: start; grid-template-columns: minmax(0, 1fr); }
.card-head { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: center; gap: 6px 12px; }
.note { margin-top: -8px; }
.stats { display: grid; gap: 1px; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); background: var(--line); border: 1px solid var(--line); border-radius: var(--radius); overflow: hidden; }
.stat { background: var(--surface); padding: 14px 18px; }
.stat dt { color: var(--quiet); font-size: 13px; }
.stat-value { display: block; font-size: 24px; line-height: 1.3; font-weight: 640; letter-spacing: -0.02em; font-variant-numeric: tabular-nums; }
.stat-sub { font-size: 12.5px; display: block; }
.facts { display: grid; gap: 0; }
.facts > div { display: grid; grid-template-columns: minmax(100px, min(34%, 190px)) minmax(0, 1fr); gap: 14px; padding: 7px 0; border-top: 1px solid var(--line); }
.facts > div:first-child { border-top: 0; padding-top: 0; }
.facts > div:last-child { padding-bottom: 0; }
.facts dt { color: var(--quiet); }
table + .facts, .list + .facts { border-top: 1px solid var(--line); padding-top: 10px; margin-top: -6px; }
.facts + :is(table, .list) { margin-top: 8px; }
.badge { display: inline-block; padding: 1px 8px; border-radius: 999px; font-size: 12px; line-height: 1.6; font-weight: 560; background: var(--raised); color: var(--quiet); white-space: nowrap; }
.badge a { color: inherit; }
.badge.good { background: var(--good-soft); color: var(--good); }
.badge.warn { background: var(--warn-soft); color: var(--warn); }
.badge.bad { background: var(--bad-soft); color: var(--bad); }
.badge.info { background: var(--accent-soft); color: var(--accent); }
.notice { border: 1px solid var(--line); border-left: 3px solid var(--quiet); background: var(--surface); border-radius: 8px; padding: 10px 14px; }
.notice.good { border-left-color: var(--good); background: var(--good-soft); }
.notice.warn { border-left-color: var(--warn); background: var(--warn-soft); }
.notice.bad { border-left-color: var(--bad); background: var(--bad-soft); }
.notice.info { border-left-color: var(--accent); background: var(--accent-soft); }
.notice ul { padding-left: 18px; margin-top: 4px; }
.empty { text-align: center; padding: 26px 16px; display: grid; gap: 4px; justify-items: center; }
.empty-title { font-weight: 600; }
.empty .quiet { max-width: 56ch; }
.attention { list-style: none; padding: 0; }
.attention li { display: flex; flex-wrap: wrap; gap: 2px 14px; align-items: baseline; padding: 8px 0; border-top: 1px solid var(--line); }
.attention li:first-child { border-top: 0; padding-top: 0; } .attention li:last-child { padding-bottom: 0; }
.attention strong { font-weight: 600; min-width: min(240px, 100%); font-variant-numeric: tabular-nums; }
.attention-of, .named { display: inline-flex; flex-wrap: wrap; gap: 2px 12px; font-size: 12.5px; }
.attention-of { margin-left: auto; } .named { display: flex; }
.steps { list-style: none; padding: 0; display: grid; gap: 10px; }
.steps li { display: grid; grid-template-columns: 76px minmax(0, 1fr); gap: 10px; align-items: baseline; justify-items: start; }
.json { background: var(--raised); border-radius: 8px; padding: 12px 14px; white-space: pre-wrap; }
.diff del { background: var(--bad-soft); }
.diff ins { background: var(--good-soft); }
.secret { display: block; font-family: var(--mono); font-size: 14px; background: var(--raised); border: 1px dashed var(--line-strong); border-radius: 8px; padding: 12px 14px; user-select: all; }
.tags { display: flex; flex-wrap: wrap; gap: 4px; }
.tabs { display: flex; flex-wrap: wrap; gap: 2px; background: var(--raised); border-radius: 8px; padding: 3px; }
.tabs :is(a, button) { padding: 4px 12px; border-radius: 6px; color: var(--quiet); text-decoration: none; font-weight: 550; }
fieldset.tabs { border: 0; margin: 0; min-width: 0; }
.tabs button { border: 0; background: none; min-height: 0; }
.tabs :is(a, button):hover { color: var(--text); }
.tabs :is(a, button)[aria-current] { background: var(--surface); color: var(--text); box-shadow: 0 1px 2px rgb(0 0 0 / 0.12); }

button, .button { font: inherit; font-weight: 560; border: 1px solid color-mix(in srgb, var(--line-strong) 60%, transparent); background: var(--surface); color: var(--text); border-radius: 7px; padding: 6px 14px; cursor: pointer; text-decoration: none; display: inline-block; line-height: 1.45; text-align: center; min-height: 36px; }
button:hover, .button:hover { background: var(--raised); }
button.primary, .button.primary { background: var(--accent-solid); border-color: transparent; color: #fff; }
button.primary:hover, .button.primary:hover { background: color-mix(in srgb, var(--accent-solid) 86%, #000); }
button.danger { color: var(--bad); border-color: color-mix(in srgb, var(--bad) 45%, transparent); }
button.danger:hover { background: var(--bad-soft); }
button[aria-disabled="true"] { opacity: 0.65; cursor: progress; }
button.copy { border: 0; background: none; padding: 4px; min-height: 24px; line-height: 0; vertical-align: middle; color: var(--quiet); }
button.copy:hover { color: var(--text); }
button.copy svg { fill: none; stroke: currentColor; stroke-width: 1.4; }
button.copy[data-copied="yes"] { color: var(--good); }
button.copy[data-copied="no"] { color: var(--bad); }
form.inline { display: inline; }
form.inline button { white-space: nowrap; }
.form { display: grid; gap: 16px; grid-template-columns: minmax(0, 1fr); }
.form .columns { display: grid; gap: 14px 18px; grid-template-columns: repeat(auto-fit, minmax(170px, 1fr)); align-items: start; }
.filters { display: flex; flex-wrap: wrap; gap: 10px; align-items: end; }
search { display: block; margin-bottom: 4px; }
.field { display: grid; gap: 4px; align-content: start; max-width: 560px; }
.filters .field { flex: 1 1 150px; max-width: 260px; }
.columns .field, .alone .field, .field:has(textarea) { max-width: none; }
.field label, .checks legend { font-weight: 560; }
input, select, textarea { font: inherit; width: 100%; min-width: 0; color: var(--text); background: var(--surface); border: 1px solid var(--line-strong); border-radius: 7px; padding: 6px 10px; line-height: 1.45; min-height: 36px; }
select { padding-right: 6px; }
textarea { resize: vertical; }
textarea.mono { font-family: var(--mono); font-size: 12.5px; }
input[type="checkbox"], input[type="radio"] { width: 16px; height: 16px; min-height: 0; margin: 2px 0 0; flex: none; accent-color: var(--accent-solid); }
input[type="file"] { padding: 5px; }
.check { display: flex; gap: 8px; align-items: flex-start; flex-wrap: wrap; }
label.check { flex-wrap: nowrap; }
.check > label { flex: 1 1 0; min-width: 0; }
.actions > .check { flex-wrap: nowrap; }
.check > .hint { flex-basis: 100%; padding-left: 24px; }
.checks { border: 0; padding: 0; margin: 0; display: grid; gap: 8px; min-width: 0; }
.checks legend { padding: 0; margin-bottom: 6px; }
.wrong > input, .wrong > select, .wrong > textarea { border-color: var(--bad); }
.error { color: var(--bad); font-size: 13px; }
fieldset.plain { display: contents; }
fieldset.box { border: 1px solid var(--line); border-radius: 8px; padding: 4px 14px 14px; margin: 0; display: grid; gap: 14px; min-width: 0; }
.mapping-row { display: grid; gap: 12px; justify-items: start; padding-bottom: 14px; border-bottom: 1px solid var(--line); }
.mapping-row > .columns, .mapping-row > details { width: 100%; }
.mapping-row .checks { grid-column: 1 / -1; grid-template-columns: repeat(auto-fill, minmax(160px, 1fr)); }
.mapping-row .checks > p { grid-column: 1 / -1; }
fieldset.box > legend { font-weight: 600; padding: 0 6px; margin-left: -6px; }
.submit { display: flex; flex-wrap: wrap; gap: 10px; align-items: center; }
details.fold > summary { cursor: pointer; font-weight: 560; color: var(--accent); }
details.fold[open] > summary { margin-bottom: 12px; }
.danger-zone { border-color: color-mix(in srgb, var(--bad) 40%, var(--line)); }

@media (max-width: 1080px) {
  .grid.thirds > * { grid-column: span 6; }
}
@media (max-width: 760px) {
  .grid > *, .grid.thirds > * { grid-column: 1 / -1; }
  .stats { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  .attention-of { margin-left: 0; }
  .stat { padding: 12px 14px; }
  .stat:last-child:nth-child(odd) { grid-column: 1 / -1; }
  .stat-value { font-size: 20px; }
  .filters .field { max-width: none; }
  .card { padding: 14px; }
}
`;
