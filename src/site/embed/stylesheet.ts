/**
 * The stylesheet of the widget. The widget is embedded in another site's page, so its background is transparent and its
 * colors follow only its theme: with a color scheme, browsers would give the frame an opaque background.
 */

import { contentHash } from '../../platform/content-hash.ts';
import { FIGURE_STYLES } from '../../ui/styles/figures.ts';

const LIGHT = `--surface: #ffffff; --raised: #e4e8ee; --line: #d9dee5; --line-strong: #8792a2; --text: #16202e; --quiet: #4d5768; --bad: #b3261e;
  --s0: #2f5bea; --s2: #b96f00;`;
const DARK = `--surface: #161b22; --raised: #353d4a; --line: #39424f; --line-strong: #6b7686; --text: #eef1f5; --quiet: #b4bdca; --bad: #ff8f86;
  --s0: #7d9dff; --s2: #f0a939;`;

export const WIDGET_STYLESHEET = `
:root { color-scheme: light; ${LIGHT} }
@media (prefers-color-scheme: dark) { :root:not([data-theme]) { ${DARK} } }
:root[data-theme="dark"] { ${DARK} }
*, *::before, *::after { box-sizing: border-box; }
html, body { background: transparent; }
body { margin: 0; color: var(--text); font: 14px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif; overflow-wrap: anywhere; }
h1, h2, p, ul, ol, figure { margin: 0; }
h1 { font-size: 15px; font-weight: 640; }
h2 { font-size: 13px; font-weight: 600; margin-bottom: 8px; }
main { padding: 2px; display: grid; gap: 16px; grid-template-columns: minmax(0, 1fr); }
.quiet, .meter-foot { color: var(--quiet); }
.num { font-variant-numeric: tabular-nums; }
.ended { color: var(--quiet); }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.line { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 2px 16px; align-items: baseline; }
.totals { display: flex; flex-wrap: wrap; gap: 2px 28px; align-items: baseline; }
.total { font-size: 24px; font-weight: 640; letter-spacing: -0.02em; line-height: 1.3; }
.next { display: grid; gap: 8px; justify-items: start; }
.says { padding-left: 10px; border-left: 3px solid var(--line-strong); }
.says.warn { border-color: var(--s2); }
.says.bad { border-color: var(--bad); }
.says.bad, .meter-foot.bad { color: var(--bad); }
.says.bad { font-weight: 560; }
/* What stands under a meter is a sentence. */
.meter-foot::first-letter { text-transform: uppercase; }
.upgrade { color: var(--s0); font-weight: 600; text-underline-offset: 3px; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; font-weight: 400; padding: 4px 12px 4px 0; }
.figure { text-align: right; }
summary:focus-visible, .upgrade:focus-visible { outline: 2px solid var(--s0); outline-offset: 2px; }
${FIGURE_STYLES}
.chart-body svg { height: 110px; }
`;

/** The address contains a hash of the content, so that it can be cached forever. */
export const WIDGET_STYLESHEET_PATH = `/embed/widget-${contentHash(WIDGET_STYLESHEET)}.css`;
