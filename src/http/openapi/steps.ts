/**
 * The requests that an example needs before it can run, in order: those that create its objects, and those whose
 * answers have a value that the example contains as `$NAME`.
 */
import { EXAMPLES, type Example, type ExampleId, VALUES, type Value } from './examples.ts';

export interface Step {
  id: ExampleId;
  example: Example;
  /** The variable that gets the first field of this name in the answer. */
  value?: { name: string; field: string };
}

const VARIABLE = /\$([A-Z_]+)/g;

export function stepsBefore(id: ExampleId): Step[] {
  const steps: Step[] = [];
  const known = new Set<string>();
  // This ends, because no example needs itself: a test runs all of them.
  const prepare = (example: Example) => {
    for (const need of example.needs ?? []) {
      const { id: needed, ...input } = typeof need === 'string' ? { ...EXAMPLES[need], id: need } : need;
      const merged: Example = { ...EXAMPLES[needed], needs: [], ...input };
      const request = JSON.stringify([needed, merged]);
      if (known.has(request)) continue;
      known.add(request);
      prepare(merged);
      steps.push({ id: needed, example: merged });
    }
    for (const name of listVariables(example)) {
      const value = (VALUES as Record<string, Value>)[name];
      if (!value || known.has(name)) continue;
      known.add(name);
      const source: Example = { ...EXAMPLES[value.from], ...(value.body !== undefined && { body: value.body }) };
      prepare(source);
      steps.push({ id: value.from, example: source, value: { name, field: value.field } });
    }
  };
  prepare(EXAMPLES[id]);
  return steps;
}

/** The variables that an example uses, the credential's among them. */
function listVariables({ params, query, body, credential }: Example): string[] {
  return [...JSON.stringify([params, query, body, credential]).matchAll(VARIABLE)].map(([, name]) => name ?? '');
}

/** An example's input with plausible values in place of its variables. */
export function concrete(value: unknown): unknown {
  if (value === undefined) return undefined;
  const text = JSON.stringify(value).replace(
    VARIABLE,
    (_, name: string) => (VALUES as Record<string, Value>)[name]?.sample ?? 'sk-example',
  );
  return JSON.parse(text);
}
