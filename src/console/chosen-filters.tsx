/**
 * The active filters of a list: each with a link that removes it, and a link that removes all.
 */
import type { FC } from 'hono/jsx';

interface ChosenProps {
  path: string;
  /** The query of the page. */
  asked: Readonly<Record<string, string | undefined>>;
  /** The names of the filters for people, in their order. */
  names: Readonly<Record<string, string>>;
  /** The text of a value; empty if the name alone is enough. */
  show: (name: string, value: string) => string;
}

export const ChosenFilters: FC<ChosenProps> = ({ path, asked, names, show }) => {
  const chosen = Object.entries(names).filter(([name]) => asked[name] !== undefined);
  if (chosen.length === 0) return null;
  return (
    <p class="tags">
      {chosen.map(([name, label]) => {
        const { [name]: value = '', ...others } = asked;
        const shown = show(name, value);
        return (
          <a class="badge" href={linkTo(path, others)} title="Remove filter">
            {shown === '' ? label : `${label}: ${shown}`} ×
          </a>
        );
      })}
      {chosen.length > 1 && <a href={path}>Clear all</a>}
    </p>
  );
};

/** The address of a page with a query. */
export function linkTo(path: string, query: Readonly<Record<string, string | undefined>>): string {
  const search = new URLSearchParams(query as Record<string, string>).toString();
  return search === '' ? path : `${path}?${search}`;
}
