/**
 * An operation's example in Python: with OpenAI's package on the routes that the package has, otherwise with
 * `requests`.
 */
import type { ExampleId } from '../../../http/openapi/examples.ts';
import { literal, PYTHON } from './literal.ts';
import { fileText, type SampleRequest } from './request.ts';

const text = PYTHON.text;

/** Methods of OpenAI's package, with the names of their positional arguments. */
const OPENAI: Partial<Record<ExampleId, readonly [method: string, ...positional: string[]]>> = {
  createChatCompletion: ['chat.completions.create'],
  createResponse: ['responses.create'],
  compactResponse: ['responses.compact'],
  countResponseTokens: ['responses.input_tokens.count'],
  retrieveResponse: ['responses.retrieve', 'id'],
  deleteResponse: ['responses.delete', 'id'],
  cancelResponse: ['responses.cancel', 'id'],
  listInputItems: ['responses.input_items.list', 'id'],
  createEmbedding: ['embeddings.create'],
  createCompletion: ['completions.create'],
  createModeration: ['moderations.create'],
  createImage: ['images.generate'],
  createImageEdit: ['images.edit'],
  createSpeech: ['audio.speech.create'],
  createTranscription: ['audio.transcriptions.create'],
  createTranslation: ['audio.translations.create'],
  listModels: ['models.list'],
  retrieveModel: ['models.retrieve', 'model'],
  uploadFile: ['files.create'],
  listFiles: ['files.list'],
  retrieveFile: ['files.retrieve', 'id'],
  deleteFile: ['files.delete', 'id'],
  readFileContent: ['files.content', 'id'],
  createUpload: ['uploads.create'],
  addUploadPart: ['uploads.parts.create', 'id'],
  completeUpload: ['uploads.complete', 'id'],
  cancelUpload: ['uploads.cancel', 'id'],
  createBatch: ['batches.create'],
  listBatches: ['batches.list'],
  retrieveBatch: ['batches.retrieve', 'id'],
  cancelBatch: ['batches.cancel', 'id'],
};
/** Fields that are Callmeter's own: the package sends them as `extra_body`. */
const OWN_FIELDS: ReadonlySet<string> = new Set(['customer', 'feature', 'tags']);
/** Operations whose answers are bytes. */
const BYTES: ReadonlySet<ExampleId> = new Set<ExampleId>(['createSpeech', 'readFileContent']);

export function pythonSample(request: SampleRequest): string {
  const method = OPENAI[request.id];
  return method ? byOpenAi(request, method) : byRequests(request);
}

function byOpenAi(
  { id, origin, credential, params, query, body, upload }: SampleRequest,
  [method, ...positional]: readonly [string, ...string[]],
): string {
  const fields = { ...query, ...(body as object | undefined), ...upload?.fields };
  const own = Object.entries(fields).filter(([name]) => OWN_FIELDS.has(name));
  const given = Object.entries(fields).filter(([name]) => !OWN_FIELDS.has(name));
  const file = upload && `${upload.file.field}=(${text(upload.file.name)}, ${bytes(fileText(upload))})`;
  const all = [
    ...positional.map((name) => text(params[name] ?? '')),
    ...given.map(([name, value]) => `${name}=${literal(value, PYTHON, '    ', 4 + name.length + 1)}`),
    ...(file ? [file] : []),
    ...(own.length > 0 ? [`extra_body=${literal(Object.fromEntries(own), PYTHON, '    ')}`] : []),
  ];
  const short = `client.${method}(${all.join(', ')})`;
  const call =
    all.length <= 1 || (short.length < 80 && !short.includes('\n'))
      ? short
      : `client.${method}(\n${all.map((argument) => `    ${argument},\n`).join('')})`;
  return `import os

from openai import OpenAI

client = OpenAI(api_key=os.environ[${text(credential ?? '')}], base_url=${text(`${origin}/v1`)})
answer = ${call}
print(${BYTES.has(id) ? 'len(answer.content)' : 'answer'})`;
}

function byRequests({ method, origin, path, headers, credential, body, upload }: SampleRequest): string {
  // `json` sets the content type.
  const { 'Content-Type': _json, ...own } = headers;
  const all = [
    ...(credential ? [`"Authorization": f"Bearer {os.environ['${credential}']}"`] : []),
    ...Object.entries(own).map(([name, value]) => `${text(name)}: ${text(value)}`),
  ];
  const lines = [
    text(origin + path),
    ...(all.length > 0 ? [`headers={${all.join(', ')}}`] : []),
    ...(body === undefined ? [] : [`json=${literal(body, PYTHON, '    ')}`]),
    ...(upload
      ? [
          `data=${literal(upload.fields, PYTHON, '    ')}`,
          `files={${text(upload.file.field)}: (${text(upload.file.name)}, ${bytes(fileText(upload))})}`,
        ]
      : []),
  ];
  return `${credential ? 'import os\n\n' : ''}import requests

response = requests.${method.toLowerCase()}(
${lines.map((line) => `    ${line},\n`).join('')})
print(response.status_code, response.text)`;
}

function bytes(content: string): string {
  return `${text(content)}.encode()`;
}
