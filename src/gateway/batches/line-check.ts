/**
 * Checks which lines of a file can run in a batch: the required fields of a line, and the vendor's model that it names.
 */
import { sha256Hex } from '../../platform/hash.ts';
import { BATCH_LINES_MAX, type InputLine, parseInputLine } from './input-line.ts';
import type { LineModels } from './line-models.ts';

/** The longest name of a line that is held unchanged; a longer one is held as its hash. */
const NAME_LENGTH_MAX = 64;
/**
 * The endpoints of OpenAI's batches (the reference of `batches.create`, openai 7.55.0) except `/v1/videos`, whose
 * answers do not report usage.
 */
const ENDPOINTS: readonly string[] = [
  '/v1/chat/completions',
  '/v1/responses',
  '/v1/embeddings',
  '/v1/completions',
  '/v1/moderations',
  '/v1/images/generations',
  '/v1/images/edits',
];

/** The model that a line names and the vendor's name of it, or the rule that the line breaks. */
export type CheckedLine = { named: string; model: string } | { rule: string };

export class LineCheck {
  readonly #models: LineModels;
  readonly #names = new Set<string>();
  #count = 0;

  constructor(models: LineModels) {
    this.#models = models;
  }

  /** The next line that is not empty; `null` if the file has too many. */
  async next(text: string): Promise<CheckedLine | null> {
    this.#count += 1;
    if (this.#count > BATCH_LINES_MAX) return null;
    const line = parseInputLine(text);
    if ('rule' in line) return line;
    const rule = (await this.#nameBroken(line.customId)) ?? requestBroken(line);
    if (rule !== null) return { rule };
    const model = this.#models.of(line.model);
    return 'rule' in model ? model : { named: line.model, model: model.model };
  }

  async #nameBroken(customId: unknown): Promise<string | null> {
    if (typeof customId !== 'string' || customId === '') return 'names no custom_id';
    const name = customId.length <= NAME_LENGTH_MAX ? customId : `sha256:${await sha256Hex(customId)}`;
    if (this.#names.has(name)) return 'has the custom_id of a line before it';
    this.#names.add(name);
    return null;
  }
}

const ENDPOINT_RULE = `must have a url of ${ENDPOINTS.join(', ')}`;

function requestBroken(line: InputLine): string | null {
  if (line.method !== 'POST') return 'must have the method POST';
  return line.path === '' ? ENDPOINT_RULE : unmeterable(line);
}

/** The rule that a line breaks if its usage would not be known. The vendor refuses a line without a `url`. */
export function unmeterable({ path, body }: InputLine): string | null {
  if (path !== '' && !ENDPOINTS.includes(path)) return ENDPOINT_RULE;
  if (isSet(body.stream)) return 'must not have stream: its answer is one line of a file';
  return isSet(body.background) ? 'must not have background: what a background response uses would not be known' : null;
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false;
}
