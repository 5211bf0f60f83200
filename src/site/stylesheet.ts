/**
 * Styles of the public pages beyond those of all pages: their header, the start page, the API reference, the model page.
 */
import { contentHash } from '../platform/content-hash.ts';

export const PAGES_STYLESHEET = `
.top { background: var(--surface); border-bottom: 1px solid var(--line); }
.top > div { max-width: 1180px; margin: 0 auto; padding: 12px 24px; display: flex; flex-wrap: wrap; gap: 8px 24px; align-items: center; }
.top .brand { padding: 0; }
.top nav { display: flex; flex-wrap: wrap; gap: 4px 18px; }
.top nav a { color: var(--quiet); text-decoration: none; font-weight: 550; padding: 4px 0; }
.top nav a:hover, .top nav a[aria-current] { color: var(--text); }
.top nav a[aria-current] { box-shadow: inset 0 -2px var(--accent); }
.public { max-width: 1180px; margin: 0 auto; padding: 28px 24px 64px; display: grid; gap: 20px; grid-template-columns: minmax(0, 1fr); }
.public.narrow { max-width: 880px; }
.prose { max-width: 76ch; display: grid; gap: 10px; }
.find { display: flex; gap: 10px; flex-wrap: wrap; align-items: end; }
.find .field { flex: 1 1 240px; }
.list { list-style: none; padding: 0; display: grid; }
.list > li { border-top: 1px solid var(--line); padding: 10px 0; }
.list > li:first-child { border-top: 0; padding-top: 0; }
.list > li:last-child { padding-bottom: 0; }
.route { display: grid; grid-template-columns: 62px minmax(0, 1fr); gap: 2px 12px; align-items: baseline; text-decoration: none; color: var(--text); }
.route:hover .path { text-decoration: underline; }
.route .path { font-family: var(--mono); font-size: 13px; font-weight: 600; color: var(--accent); }
.route .quiet { grid-column: 2; }
.method { font: 600 11.5px/1.7 var(--mono); text-align: center; border-radius: 5px; padding: 0 6px; background: var(--raised); color: var(--quiet); }
.method.GET { background: var(--accent-soft); color: var(--accent); }
.method.POST, .method.PUT, .method.PATCH { background: var(--good-soft); color: var(--good); }
.method.DELETE { background: var(--bad-soft); color: var(--bad); }
.address { display: flex; gap: 10px; align-items: baseline; flex-wrap: wrap; }
.address code { font-size: 15px; background: none; padding: 0; font-weight: 600; }
pre.shell { background: var(--raised); border-radius: 8px; padding: 14px 16px; margin: 0; overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; user-select: all; line-height: 1.6; }
.fields, .fields ul { list-style: none; padding: 0; display: grid; }
.fields li { border-top: 1px solid var(--line); padding: 9px 0; }
.fields > li:first-child { border-top: 0; padding-top: 0; }
.fields ul { margin: 9px 0 0; padding-left: 16px; border-left: 2px solid var(--line); }
.fields .name { font-family: var(--mono); font-size: 13px; font-weight: 600; }
.fields .head { display: flex; flex-wrap: wrap; gap: 2px 10px; align-items: baseline; }
.fields .kind { font-family: var(--mono); font-size: 12px; color: var(--quiet); }
.fields .must { font-size: 12px; color: var(--bad); font-weight: 560; }
.halves, .first-steps { display: grid; gap: 18px; grid-template-columns: minmax(0, 1fr); }
.first-steps { list-style: none; padding: 0; counter-reset: step; }
.first-steps > li { counter-increment: step; }
.first-steps h3::before { content: counter(step) ". "; color: var(--accent); }
@media (min-width: 861px) {
  .halves { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  .halves.exchanges { grid-template-columns: minmax(0, 5fr) minmax(0, 7fr); }
  .first-steps { grid-template-columns: repeat(3, minmax(0, 1fr)); }
}
.decision { display: grid; gap: 6px; }
.decision .days-left { color: var(--quiet); }
.decision .verdict { font-size: 19px; font-weight: 620; line-height: 1.35; letter-spacing: -0.01em; }
.model-name { display: flex; flex-wrap: wrap; gap: 6px 12px; align-items: center; }
.public > footer { color: var(--quiet); font-size: 12.5px; }
@media (max-width: 760px) { .public { padding: 20px 16px 48px; } .top > div { padding: 10px 16px; } }
`;

/** The address contains a hash of the content, so that it can be cached forever. */
export const PAGES_STYLESHEET_PATH = `/assets/pages-${contentHash(PAGES_STYLESHEET)}.css`;
