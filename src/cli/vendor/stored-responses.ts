/**
 * OpenAI's stored responses, in memory: read, streamed once more, deleted, and with their input. None runs in the
 * background, so cancelling one changes nothing.
 */
import { type Fields, fieldsOrEmpty, listOrEmpty } from '../../vendors/usage/figures.ts';
import { type Frame, newId } from './dialect.ts';
import { remember } from './remember.ts';

interface Stored {
  response: Fields;
  input: Fields[];
}

/** The oldest are forgotten first. */
const RESPONSES_MAX = 200;

export class StoredResponses {
  readonly #responses = new Map<string, Stored>();

  /** Keeps the answer to a request, unless the request says `store: false`. */
  keep(request: Fields, response: Fields): void {
    if (request.store === false) return;
    remember(this.#responses, String(response.id), { response, input: inputItems(request.input) }, RESPONSES_MAX);
  }

  read(id: string): Fields | null {
    return this.#responses.get(id)?.response ?? null;
  }

  /** The events of a response from its beginning, or those after the one with this number. */
  events(id: string, after: number): Frame[] | null {
    const response = this.read(id);
    if (!response) return null;
    const begun = { ...response, status: 'in_progress', output: [], usage: null };
    const events = [
      { type: 'response.created', response: begun },
      { type: `response.${response.status}`, response },
    ];
    return events
      .map(({ type, ...members }, index) => ({ event: type, data: { type, sequence_number: index, ...members } }))
      .slice(after + 1);
  }

  delete(id: string): Fields | null {
    return this.#responses.delete(id) ? { id, object: 'response', deleted: true } : null;
  }

  items(id: string): Fields | null {
    const input = this.#responses.get(id)?.input;
    if (!input) return null;
    const ends = { first_id: input[0]?.id ?? null, last_id: input.at(-1)?.id ?? null };
    return { object: 'list', data: input, ...ends, has_more: false };
  }
}

/** A text is one message of the user; items get the ids that they lack. */
function inputItems(input: unknown): Fields[] {
  const items = typeof input === 'string' ? [{ role: 'user', content: input }] : listOrEmpty(input).map(fieldsOrEmpty);
  return items.map((item: Fields) => {
    const { content } = item;
    const parts = typeof content === 'string' ? { content: [{ type: 'input_text', text: content }] } : {};
    return { id: newId('msg_'), type: 'message', ...item, ...parts };
  });
}
