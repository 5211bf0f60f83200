/**
 * The filters of the list of customers: links for the most frequent questions, a search, and the active filters, each
 * with a link that removes it.
 */
import type { FC } from 'hono/jsx';
import { NEAR_LIMIT_SHARE } from '../contract/attention.ts';
import { UNPROFITABLE_AMONG_MAX } from '../readings/customer-list/filters.ts';
import { type FormState, GetForm, Select, TextField } from '../ui/form.tsx';
import { count, percent } from '../ui/format.ts';
import { ChosenFilters, linkTo } from './chosen-filters.tsx';

export type Asked = Readonly<Record<string, string>>;

/** Frequent questions about customers, each with its parameter of the list's query. */
const QUESTIONS = {
  nearLimit: { label: 'Near a limit', value: String(NEAR_LIMIT_SHARE) },
  onCredit: { label: 'On credit', value: 'true' },
  denied: { label: 'Denied in this usage period', value: 'true' },
  failing: { label: 'Failing in the last 7 days', value: '0.1' },
  unprofitable: { label: 'Unprofitable in the last 30 days', value: 'true' },
  endingModel: { label: 'Used a model that ends, in the last 30 days', value: 'true' },
} as const;

type Question = keyof typeof QUESTIONS;

/** The filters of the list, with their names for people. */
const NAMES = {
  search: 'Search',
  planId: 'Plan',
  canceled: 'Canceled',
  ...Object.fromEntries(Object.entries(QUESTIONS).map(([name, { label }]) => [name, label])),
};

/** The number of customers for each question, as text; a minimum if not all were checked. */
export type Counts = Partial<Record<Question, string>>;

export function isNarrowed(asked: Asked): boolean {
  return Object.keys(asked).some((name) => Object.hasOwn(NAMES, name));
}

function without(asked: Asked, name: string): Asked {
  const { [name]: _, ...rest } = asked;
  return rest;
}

export const Questions: FC<{ path: string; asked: Asked; counts: Counts }> = ({ path, asked, counts }) => (
  <nav class="tabs" aria-label="Customers that">
    <a href={path} aria-current={isNarrowed(asked) ? undefined : 'true'}>
      All
    </a>
    {(Object.keys(QUESTIONS) as Question[]).map((name) => {
      const { label, value } = QUESTIONS[name];
      const isChosen = asked[name] === value;
      const others = without(asked, name);
      return (
        <a
          href={linkTo(path, isChosen ? others : { ...others, [name]: value })}
          aria-current={isChosen ? 'true' : undefined}
        >
          {label}
          {counts[name] !== undefined && <span class="quiet num">{` ${counts[name]}`}</span>}
        </a>
      );
    })}
  </nav>
);

export const Search: FC<{
  path: string;
  asked: Asked;
  state: FormState;
  plans: readonly (readonly [string, string])[];
}> = ({ path, asked, state, plans }) => (
  <GetForm label="Customers" action={path} state={state}>
    {Object.entries(asked)
      .filter(([name]) => name !== 'search' && name !== 'planId')
      .map(([name, value]) => (
        <input type="hidden" name={name} value={value} />
      ))}
    <div class="filters">
      <TextField name="search" label="Search" type="search" placeholder="Id, name or e-mail" />
      <Select name="planId" label="Plan" options={[['', 'All plans'], ...plans]} />
      <button type="submit">Search</button>
    </div>
  </GetForm>
);

export const Chosen: FC<{ path: string; asked: Asked }> = ({ path, asked }) => (
  <ChosenFilters path={path} asked={asked} names={NAMES} show={shownValue} />
);

function shownValue(name: string, value: string): string {
  if (name === 'nearLimit') return `${percent(Number(value))} or more used`;
  if (name === 'failing') return `${percent(Number(value))} or more of the calls`;
  return value === 'true' ? '' : value === 'false' ? 'no' : value;
}

/** Explains the active filters. */
export const Meaning: FC<{ asked: Asked }> = ({ asked }) => {
  const meanings = [
    asked.unprofitable === 'true' &&
      `Among the ${count(UNPROFITABLE_AMONG_MAX)} customers with the highest cost, those whose revenue is below it. Customers whose plan has no price are left out.`,
    asked.endingModel === 'true' &&
      'Customers whose calls to a model that has ended, or ends within 180 days, cost something.',
  ].filter((meaning) => meaning !== false);
  return meanings.length === 0 ? null : <p class="quiet hint">{meanings.join(' ')}</p>;
};
