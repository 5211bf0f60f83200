/**
 * Examples as shell commands with curl, ready to paste. Required requests come first, and values of their answers are
 * stored in variables. Credentials are variables too: `npm start` writes `DEMO_API_KEY` and `OPERATOR_TOKEN` to
 * `.dev.vars`.
 */
import { MEDIA_TYPE } from '../../contract/envelope.ts';
import { EXAMPLES, type Example, type ExampleId } from './examples.ts';
import { stepsBefore } from './steps.ts';

/** The part of an operation that a request needs. */
export interface Route {
  method: string;
  path: string;
  /** The variable of the credential; absent for public operations. */
  credential?: 'DEMO_API_KEY' | 'OPERATOR_TOKEN';
  /** Whether `Accept` must name the vendor media type. */
  vendorType: boolean;
}

export type RouteOf = (id: ExampleId) => Route;

const VARIABLE = /\$([A-Z_]+)/g;

/** The example of an operation with all requests that it needs, one command per line. */
export function renderShell(id: ExampleId, origin: string, findRoute: RouteOf): string {
  const lines = stepsBefore(id).map(({ id: needed, example, value }) => {
    const command = curl(findRoute(needed), example, origin);
    if (!value) return `${command} -o /dev/null`;
    // Takes the first match: the content of the answer may have the same field.
    const pick = `grep -o '"${value.field}": *"[^"]*"' | head -n 1 | cut -d '"' -f 4`;
    return `${value.name}=$(${command} | ${pick})`;
  });
  return [...lines, curl(findRoute(id), EXAMPLES[id], origin, ' \\\n  ')].join('\n');
}

function curl(route: Route, example: Example, origin: string, separator = ' '): string {
  const { method, credential, vendorType } = route;
  const { body, bodyFile, upload } = example;
  const sends = body !== undefined || bodyFile !== undefined;
  const token = example.credential ?? (credential && `$${credential}`);
  const parts = [
    'curl -sS',
    ...(method === 'GET' || (method === 'POST' && (sends || upload)) ? [] : [`-X ${method}`]),
    quoted(origin + exampleAddress(route, example)),
    ...(token ? [`-H ${quoted(`Authorization: Bearer ${token}`)}`] : []),
    ...(vendorType ? [`-H ${quoted(`Accept: ${MEDIA_TYPE}`)}`] : []),
    ...(sends ? [`-H 'Content-Type: application/json'`] : []),
    ...(upload ? formLines(upload) : []),
    ...(bodyFile !== undefined
      ? [`--data-binary @${bodyFile}`]
      : body !== undefined
        ? [`-d ${literal(JSON.stringify(body))}`]
        : []),
  ];
  const lines = upload?.file.lines.map((line) => literal(typeof line === 'string' ? line : JSON.stringify(line)));
  return `${lines ? `printf '%s\\n' ${lines.join(' ')} | ` : ''}${parts.join(separator)}`;
}

/** The command before creates the file. */
function formLines({ fields, file: { field, name } }: NonNullable<Example['upload']>): string[] {
  const plain = Object.entries(fields).map(
    ([name, value]) => `-F ${/[^\w/.-]/.test(value) ? literal(`${name}=${value}`) : `${name}=${value}`}`,
  );
  return [[...plain, `-F '${field}=@-;filename=${name}'`].join(' ')];
}

/** Path and query with the example's values; variables stay. */
export function exampleAddress({ path }: Pick<Route, 'path'>, { params, query }: Example): string {
  const address = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = params?.[name] ?? '';
    return value.startsWith('$') ? value : encodeURIComponent(value);
  });
  return query ? `${address}?${new URLSearchParams(query)}` : address;
}

/** Double quotes for text with a variable, otherwise single quotes. */
function quoted(text: string): string {
  return /\$[A-Z_]+/.test(text) ? `"${text}"` : `'${text}'`;
}

/** In single quotes, with variables outside. */
function literal(text: string): string {
  return `'${text.replaceAll("'", "'\\''").replace(VARIABLE, `'"$$$1"'`)}'`;
}
