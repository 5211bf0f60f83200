/**
 * Tables, and the cards that replace rows in narrow tables.
 *
 * The width of the table counts, not the width of the screen. A table with few columns stays a table in half a page; a
 * wide one becomes cards on a tablet.
 */

/** The widths, in pixels, below which tables with few, some and many columns become cards. */
const CARDS_BELOW_PX = { '.few': 420, ':not(.few, .wide)': 600, '.wide': 900 };

export const TABLE_STYLES = `
.list { container-type: inline-size; min-width: 0; }
table { width: 100%; border-collapse: collapse; overflow-wrap: break-word; }
th, td { text-align: left; vertical-align: baseline; padding: 8px 12px 8px 0; border-bottom: 1px solid var(--line); font-weight: 400; }
th:last-child, td:last-child { padding-right: 0; }
thead th { color: var(--quiet); font-size: 12.5px; font-weight: 550; white-space: nowrap; padding-top: 6px; padding-bottom: 6px; border-bottom: 0; position: sticky; top: 0; z-index: 1; background: var(--surface); box-shadow: inset 0 -1px var(--line); }
th.sort a { color: inherit; text-decoration: none; }
th.sort a:hover { color: var(--text); text-decoration: underline; }
th.sort a::after { content: "\\2195" / ""; margin-left: 4px; opacity: 0.45; }
th[aria-sort] a { color: var(--text); }
th[aria-sort="ascending"] a::after { content: "\\2191" / ""; opacity: 1; }
th[aria-sort="descending"] a::after { content: "\\2193" / ""; opacity: 1; }
caption.total { text-align: left; color: var(--quiet); font-size: 13px; padding-bottom: 4px; font-variant-numeric: tabular-nums; }
tbody tr:last-child > * { border-bottom: 0; padding-bottom: 0; }
tbody tr:hover > * { background: color-mix(in srgb, var(--raised) 55%, transparent); }
tbody th { font-weight: 560; min-width: 150px; }
.figures tbody th { min-width: 0; }
.figure { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
tbody td { min-width: 72px; }
tbody td time > * { white-space: nowrap; }
tbody td time .hint { display: block; }
.figure + td:not(.figure), .figure + th:not(.figure) { padding-left: 20px; }
table.dense tbody > tr > :is(th, td) { padding-top: 5px; padding-bottom: 5px; font-size: 12.5px; line-height: 21px; }
table.dense th, table.dense td { padding-right: 10px; }
table.dense > tbody > tr > :is(th, td) { min-width: 0; }
table.dense .id-start { max-width: 7ch; }
@container (max-width: 1089px) { table.dense td a { overflow-wrap: anywhere; } }
@container (min-width: 1090px) {
  table.dense :is(td, th) a:not(:has(.badge)) { display: inline-block; max-width: 26ch; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; vertical-align: bottom; }
}
table.dense :is(td time, tbody th) { white-space: nowrap; }
@media (min-width: 1400px) { table.dense :is(td, th) .sub, table.dense td time .hint { display: inline; margin-left: 6px; } }
td .sub, th .sub { display: block; color: var(--quiet); font-size: 12.5px; font-weight: 400; }
tr.total > * { font-weight: 620; }
tr.changed > * { background: var(--warn-soft); }
.pager { display: flex; flex-wrap: wrap; gap: 4px 16px; justify-content: flex-end; }
.pager > span { margin-right: auto; }
.id { white-space: nowrap; }
.id-start { display: inline-block; max-width: 13ch; overflow: hidden; text-overflow: ellipsis; vertical-align: bottom; }
${Object.entries(CARDS_BELOW_PX)
  .map(([tables, width]) => `@container (max-width: ${width}px) {\n${cardStyles(`table[role="table"]${tables}`)}}`)
  .join('\n')}
`;

/** The first line of a card has the name and the main figure, the second line the rest. */
function cardStyles(table: string): string {
  return `
  ${table}, ${table} > tbody, ${table} > caption { display: block; width: 100%; }
  ${table} > caption.unseen { position: absolute; width: 1px; }
  ${table} > thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  ${table}.sorts > thead { position: static; width: auto; height: auto; clip-path: none; display: block; }
  ${table}.sorts > thead > tr { display: flex; flex-wrap: wrap; gap: 2px 14px; padding: 0 0 8px; border-bottom: 1px solid var(--line); }
  ${table}.sorts > thead th { position: static; display: none; padding: 0; box-shadow: none; }
  ${table}.sorts > thead th.sort { display: block; }
  ${table} > tbody > tr { display: flex; flex-wrap: wrap; align-items: baseline; gap: 1px 14px; padding: 9px 0; border-bottom: 1px solid var(--line); }
  ${table} > tbody > tr:last-child { border-bottom: 0; padding-bottom: 0; }
  ${table} > tbody > tr::before { content: ""; order: 2; flex: 0 0 100%; }
  ${table} > tbody > tr > *, ${table}.dense > tbody > tr > * { display: block; order: 3; border: 0; padding: 0; min-width: 0; max-width: 100%; text-align: left; font-size: 12.5px; white-space: normal; background: none; }
  ${table} > tbody > tr > .in-title { order: 0; flex: 1 1 50%; font-size: 14px; }
  ${table} > tbody > tr > .in-figure { order: 1; margin-left: auto; font-size: 14px; font-weight: 560; }
  ${table} > tbody > tr > :is(.in-figure, .in-detail)[data-label]:not([data-label=""])::before { content: attr(data-label) " "; color: var(--quiet); font-weight: 400; font-size: 12.5px; }
  ${table} > tbody > tr > .in-detail:has(> .badge:first-child, > span > .badge:first-child, > .tags)::before { content: none; }
  ${table} > tbody > tr > :is(.in-hidden, :empty, :has(> .nothing:only-child):not(.sorted)) { display: none; }
  ${table} :is(td, th) :is(.sub, .hint) { display: inline; margin-left: 5px; }
  ${table} .in-detail > div { display: inline; }
  ${table} .in-detail .bar { display: none; }
  ${table} .in-detail time > .at:not(:only-child) { display: none; }
  ${table} .in-detail time > .hint { margin-left: 0; color: inherit; font-size: inherit; }
`;
}
