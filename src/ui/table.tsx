/**
 * Tables. The head stays in view while the rows scroll. If a table lacks width, each row becomes a card, so that
 * nothing scrolls horizontally: name and main figure are on one line, the rest is below. Roles are explicit, because
 * browsers drop the implicit ones if CSS changes the display.
 */
import type { Child } from 'hono/jsx';
import { count, plural } from './format.ts';
import { nextQuery, previousQuery, type Trail } from './trail.ts';

/** The position of a column on a card. */
export type CardPlace = 'title' | 'figure' | 'detail' | 'hidden';

export interface Sort {
  /** The address of the list in the order that a click on the head requests. */
  href: string;
  /** The current order by this column; `null` if another column decides. */
  order: 'ascending' | 'descending' | null;
}

export interface Column<Row> {
  title: string;
  /** The unit of the figures, shown below the title in the head, and after the title on a card. */
  unit?: string;
  cell: (row: Row) => Child;
  /** Whether the column holds figures, which are aligned to the right. */
  figure?: boolean;
  /** Whether the column is the heading of its row. */
  heading?: boolean;
  /** Makes the head a link that sorts. */
  sort?: Sort | undefined;
  /** By default the heading is the card's title, the first figure its main figure, and all others are details. */
  phone?: CardPlace;
}

/**
 * A table with at most `FEW_MAX` columns stays a table in little width. From `WIDE_FROM` columns on, it becomes cards
 * on a tablet too.
 */
const FEW_MAX = 3;
const WIDE_FROM = 7;

interface TableProps<Row> {
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  /** Low rows, for long lists. */
  dense?: boolean;
  /** The count of all rows, shown above the table: `1,204 customers`. */
  total?: string | undefined;
}

export function Table<Row>({ caption, columns, rows, dense = false, total }: TableProps<Row>) {
  const places = cardPlaces(columns);
  const style = [
    dense && 'dense',
    columns.length <= FEW_MAX && 'few',
    columns.length >= WIDE_FROM && 'wide',
    columns.some(({ sort }) => sort) && 'sorts',
  ];
  return (
    <div class="list">
      {/* biome-ignore lint/a11y/noRedundantRoles: the cards remove the implicit roles */}
      <table role="table" class={style.filter(Boolean).join(' ') || undefined}>
        <caption class={total === undefined ? 'unseen' : 'total'}>
          {total === undefined ? (
            caption
          ) : (
            <>
              <span class="unseen">{caption}: </span>
              {total}
            </>
          )}
        </caption>
        {/* biome-ignore lint/a11y/noRedundantRoles: the cards remove the implicit roles */}
        <thead role="rowgroup">
          {/* biome-ignore lint/a11y/noRedundantRoles: the cards remove the implicit roles */}
          <tr role="row">{columns.map(renderHead)}</tr>
        </thead>
        {/* biome-ignore lint/a11y/noRedundantRoles: the cards remove the implicit roles */}
        <tbody role="rowgroup">
          {rows.map((row) => (
            // biome-ignore lint/a11y/noRedundantRoles: the cards remove the implicit roles
            <tr role="row">{columns.map((column, index) => renderCell(column, row, places[index] ?? 'detail'))}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Each card has one title and at most one main figure. The column that decides the order is never hidden. */
function cardPlaces<Row>(columns: readonly Column<Row>[]): CardPlace[] {
  const places = columns.map(({ phone, heading, sort }): CardPlace => {
    if (phone === 'hidden' && sort?.order) return 'detail';
    return phone ?? (heading ? 'title' : 'detail');
  });
  if (!places.includes('figure')) {
    const first = columns.findIndex(({ figure, phone, heading }) => figure && !heading && phone === undefined);
    if (first >= 0) places[first] = 'figure';
  }
  return places;
}

function renderHead<Row>({ title, unit, figure, sort }: Column<Row>) {
  const style = [figure && 'figure', sort && 'sort'].filter(Boolean).join(' ') || undefined;
  return (
    // biome-ignore lint/a11y/noRedundantRoles: the cards remove the implicit roles
    <th role="columnheader" scope="col" class={style} aria-sort={sort?.order ?? undefined}>
      {sort ? <a href={sort.href}>{title}</a> : title}
      {unit && <span class="sub">{unit}</span>}
    </th>
  );
}

function renderCell<Row>({ title, unit, cell, figure, heading, sort }: Column<Row>, row: Row, place: CardPlace) {
  const label = unit ? `${title}, ${unit}` : title;
  const style = [figure && 'figure', `in-${place}`, sort?.order && 'sorted'].filter(Boolean).join(' ');
  return heading ? (
    // biome-ignore lint/a11y/noRedundantRoles: the cards remove the implicit roles
    <th role="rowheader" scope="row" data-label={label} class={style}>
      {cell(row)}
    </th>
  ) : (
    // biome-ignore lint/a11y/noRedundantRoles: the cards remove the implicit roles
    <td role="cell" data-label={label} class={style}>
      {cell(row)}
    </td>
  );
}

/** The count above a table, such as `12 keys`. If only a part of the list is here, only its count is known. */
export function totalText(shown: number, noun: string, isWhole: boolean): string {
  return isWhole ? plural(shown, noun) : `${plural(shown, noun)} on this page`;
}

interface PagerProps {
  path: string;
  /** The query of the current page, without its cursor. */
  query: Record<string, string>;
  next: string | null;
  first: boolean;
  /** The way back: `readTrail(c.req.query(), items.length)`. Without it the pager links back to the first page. */
  previous?: Trail;
}

/** Links to the pages around the current one, with the rows that it shows. */
export function Pager({ path, query, next, first, previous }: PagerProps) {
  if (next === null && first) return null;
  const { cursor: _cursor, trail: _trail, ...asked } = query;
  const to = (added: Record<string, string>) => {
    const text = new URLSearchParams({ ...asked, ...added }).toString();
    return text === '' ? path : `${path}?${text}`;
  };
  const trail = first && previous ? { ...previous, steps: [], cursor: '', before: 0 } : previous;
  const onward = next === null ? null : trail ? nextQuery(trail, next) : { cursor: next };
  const back = trail && trail.steps.length > 0 ? previousQuery(trail) : null;
  return (
    <nav class="pager" aria-label="Pages">
      {trail && trail.before !== null && trail.shown > 0 && (
        <span class="quiet num">{`${count(trail.before + 1)} to ${count(trail.before + trail.shown)}`}</span>
      )}
      {!first && !(back && Object.keys(back).length === 0) && <a href={to({})}>First page</a>}
      {!first && back && (
        <a rel="prev" href={to(back)}>
          Previous page
        </a>
      )}
      {onward && (
        <a rel="next" href={to(onward)}>
          Next page
        </a>
      )}
    </nav>
  );
}
