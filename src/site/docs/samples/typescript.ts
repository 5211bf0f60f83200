/**
 * An operation's example in TypeScript: by the client library if it has a method for it, otherwise by `fetch`.
 */

import { literal, TYPESCRIPT } from './literal.ts';
import { fileText, type SampleRequest } from './request.ts';

const text = TYPESCRIPT.text;

/** `methods` are the names of the client library's methods. */
export function typeScriptSample(request: SampleRequest, methods: ReadonlySet<string>): string {
  const { id } = request;
  if (id === 'discoverModels') return byClient(request, 'discoverModels()');
  if (id === 'resolveModel' || id === 'resolveModelKey') return byClient(request, lookUp(request));
  return methods.has(id) ? byClient(request, call(request)) : byFetch(request);
}

function byClient({ origin, credential }: SampleRequest, expression: string): string {
  const options = [...(credential ? [`apiKey: process.env.${credential}`] : []), `baseUrl: ${text(origin)}`];
  return `import { createClient } from 'callmeter/client';

const callmeter = createClient({ ${options.join(', ')} });
const answer = await callmeter.${expression};
console.log(answer);`;
}

/** One input has the parameters and the members of the body. */
function call({ id, params, query, body }: SampleRequest): string {
  const input = { ...params, ...query, ...(body as object | undefined) };
  return Object.keys(input).length === 0 ? `${id}()` : `${id}(${literal(input, TYPESCRIPT, '', 40)})`;
}

function lookUp({ params, query }: SampleRequest): string {
  const { provider, model, modelKey = `${provider}/${model}` } = params;
  return `lookUpModel(${text(modelKey)}, ${literal(query, TYPESCRIPT)})`;
}

function byFetch({ method, origin, path, headers, credential, body, upload }: SampleRequest): string {
  const form = upload ? `${formCode(upload)}\n` : '';
  const all = Object.entries(headers).map(([name, value]) => `${TYPESCRIPT.key(name)}: ${text(value)}`);
  if (credential) all.unshift(`Authorization: \`Bearer \${process.env.${credential}}\``);
  const lines = [
    ...(method === 'GET' ? [] : [`  method: ${text(method)},`]),
    ...(all.length > 0 ? [`  headers: { ${all.join(', ')} },`] : []),
    ...(upload ? ['  body: form,'] : []),
    ...(body === undefined ? [] : [`  body: JSON.stringify(${literal(body, TYPESCRIPT, '  ')}),`]),
  ];
  const options = lines.length > 0 ? `, {\n${lines.join('\n')}\n}` : '';
  return `${form}const response = await fetch(${text(origin + path)}${options});
console.log(response.status, await response.text());`;
}

function formCode(upload: NonNullable<SampleRequest['upload']>): string {
  const { fields, file } = upload;
  return [
    'const form = new FormData();',
    ...Object.entries(fields).map(([name, value]) => `form.append(${text(name)}, ${text(value)});`),
    `form.append(${text(file.field)}, new Blob([${text(fileText(upload))}]), ${text(file.name)});`,
  ].join('\n');
}
