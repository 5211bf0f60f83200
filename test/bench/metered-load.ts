/**
 * Load of calls and increments of an organization's customers: begin and end of each call, and the wait until D1 has
 * everything that was acknowledged.
 */
import { MEDIA_TYPE } from '../../src/contract/envelope.ts';
import { type Connection, type HttpRequest, type Load, loadSteps, type Step } from './load.ts';
import { settled, type TenantKey } from './service.ts';

/** The keys with which begins and ends are sent. */
interface Keys {
  keyed: boolean;
}

export class MeteredLoad {
  readonly #url: string;
  readonly #organizationId: string;
  readonly #headers: Record<string, string>;
  readonly #customers: readonly string[];
  /** The number of the last key in this process: loads may share customers. */
  static #keySerial = 0;
  /** The number of the last call or increment of this load. */
  #serial = 0;
  #ended = 0;

  /** The customers take turns, call by call. */
  constructor(url: string, { organizationId, key }: TenantKey, customers: readonly string[]) {
    this.#url = url;
    this.#organizationId = organizationId;
    this.#customers = customers;
    this.#headers = { Authorization: `Bearer ${key}`, Accept: MEDIA_TYPE, 'Content-Type': 'application/json' };
  }

  /** Begins and ends. Each is an answer, so there are two for a call. */
  pairs(seconds: number, keys: Keys): Promise<Load> {
    return loadSteps(this.#url, this.pairSteps(keys), seconds);
  }

  increments(seconds: number, keys: Keys): Promise<Load> {
    return loadSteps(this.#url, this.incrementSteps(keys), seconds);
  }

  /** A begin, and the end of the call that it began. */
  pairSteps(keys: Keys): Step[] {
    return [
      {
        path: '/call_begin',
        status: 200,
        request: () => this.#begin(keys),
        answered: (body, memory) => {
          memory.callId = readCallId(body);
        },
      },
      {
        path: '/call_end',
        status: 200,
        request: ({ callId }) => this.#end(callId ?? ''),
        answered: () => {
          this.#ended += 1;
        },
      },
    ];
  }

  incrementSteps(keys: Keys): Step[] {
    return [{ path: '/custom_meter', status: 200, request: () => this.#increment(keys) }];
  }

  /** One call of each customer, so that none of them is new afterwards. */
  async beginAndEndOnce(connection: Connection): Promise<void> {
    for (let call = 0; call < this.#customers.length; call += 1)
      await this.endOnce(connection, await this.beginOnce(connection, { keyed: false }));
  }

  async beginOnce(connection: Connection, keys: Keys): Promise<string> {
    return readCallId(await connection.send(`${this.#url}/call_begin`, this.#begin(keys)));
  }

  async endOnce(connection: Connection, callId: string): Promise<void> {
    await connection.send(`${this.#url}/call_end`, this.#end(callId));
    this.#ended += 1;
  }

  async incrementOnce(connection: Connection, keys: Keys): Promise<void> {
    await connection.send(`${this.#url}/custom_meter`, this.#increment(keys));
  }

  nextCustomer(): string {
    this.#serial += 1;
    return this.#customers[this.#serial % this.#customers.length] ?? '';
  }

  /** Calls that were ended, and are known to be. */
  get ended(): number {
    return this.#ended;
  }

  /** Waits until D1 has all that the customers did. */
  settle(): Promise<void> {
    return settled(this.#url, this.#organizationId, this.#customers);
  }

  #begin({ keyed }: Keys): HttpRequest {
    const customerId = this.nextCustomer();
    // Without a key, a begin that is the same to the letter would be the same call.
    const body = { customerId, customerUserId: keyed ? 'user' : `user-${this.#serial}`, feature: 'chat' };
    return this.#post(body, keyed);
  }

  #end(callId: string): HttpRequest {
    return this.#post({ callId, modelUsed: 'gpt-4o', inputTokens: 1_200, responseTokens: 300 }, false);
  }

  #increment({ keyed }: Keys): HttpRequest {
    return this.#post({ customerId: this.nextCustomer(), meterSlot: 'CUSTOM1', amount: 1 }, keyed);
  }

  #post(body: object, keyed: boolean): HttpRequest {
    const sent = { method: 'POST' as const, body: JSON.stringify(body) };
    if (!keyed) return { ...sent, headers: this.#headers };
    MeteredLoad.#keySerial += 1;
    const key = `bench-${process.pid}-${MeteredLoad.#keySerial}`;
    return { ...sent, headers: { ...this.#headers, 'Idempotency-Key': key } };
  }
}

function readCallId(body: string): string {
  return (JSON.parse(body) as { data: { callId: string } }).data.callId;
}
