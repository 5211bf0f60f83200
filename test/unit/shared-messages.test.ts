/**
 * Commands of requests that run at the same time share messages to their customer's object, and no request comes to
 * depend on another by that.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Env } from '../../src/env.ts';
import type { SharedCommand } from '../../src/objects/customer-commands.ts';
import { sendShared } from '../../src/objects/shared-messages.ts';

/** What came to the object: commands that came alone, and messages of several. */
type Received = string | readonly string[];

interface ObjectUnderTest {
  received: Received[];
  /** How the object takes the next message of several. */
  takesAll: (commands: readonly string[]) => Promise<(string | null)[]>;
  takes: (command: string) => Promise<string>;
  send: (text: string, kind?: SharedCommand[0]) => Promise<string>;
}

/** Whether the runtime runs what follows on a promise for the request that made it. */
const keepsApart = (value: boolean) =>
  vi.stubGlobal('Cloudflare', { compatibilityFlags: { handle_cross_request_promise_resolution: value } });

const START = Date.UTC(2027, 0, 1);
/** All that a test sends comes at the same moment, however long the test takes. */
const atOneMoment = () => void vi.useFakeTimers({ toFake: ['Date'], now: START });

beforeEach(() => void keepsApart(true));
afterEach(() => {
  // Before the clock: what is mocked here is the clock's own.
  vi.restoreAllMocks();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** What an answer takes, by the clock of the test. */
const moment = () => new Promise<void>((resolve) => setTimeout(resolve, 1));
/** All that can go on without time going on has. */
const settle = async () => {
  for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
};

let customers = 0;

/** A customer's object that answers after a moment, and requests that send to it. */
function objectOf(customerId = `customer ${customers++}`, organizationId = 'org'): ObjectUnderTest {
  const take = async (text: string) => {
    under.received.push(text);
    await moment();
    return under.takes(text);
  };
  const stub = {
    open: take,
    finish: take,
    runAll: async (commands: readonly SharedCommand[]) => {
      const texts = commands.map(([kind, text]) => `${kind} ${text}`);
      under.received.push(texts);
      await moment();
      return under.takesAll(texts);
    },
  };
  const named = new Map([[`${organizationId}:${customerId}`, stub]]);
  const env = { CUSTOMERS: { getByName: (name: string) => named.get(name) } } as unknown as Env;
  const under: ObjectUnderTest = {
    received: [],
    takesAll: async (texts) => texts.map((text) => `answer to ${text}`),
    takes: async (text) => `answer to ${text}`,
    send: (text, kind = 'finish') => {
      const command = { kind, text: (again: boolean) => (again ? `${text}, again` : text) };
      return sendShared({ env, organization: { organizationId }, defer: () => undefined }, customerId, command);
    },
  };
  return under;
}

const sentBy = (object: ObjectUnderTest, texts: readonly string[]) =>
  Promise.all(texts.map((text) => object.send(text)));
const failed = (outcome: PromiseSettledResult<string>) =>
  outcome.status === 'rejected' ? String(outcome.reason) : outcome.value;

describe('a command', () => {
  beforeEach(atOneMoment);

  it('goes at once and by itself where its customer is idle', async () => {
    const object = objectOf();
    const answer = object.send('first', 'open');
    expect(object.received).toEqual(['first']);
    expect(await answer).toBe('answer to first');
    vi.setSystemTime(START + 10);
    expect(await object.send('much later')).toBe('answer to much later');
    expect(object.received).toEqual(['first', 'much later']);
  });

  it('travels with those of other requests where its customer is busy, and has an answer of its own', async () => {
    const object = objectOf();
    const answers = await Promise.all([
      object.send('first'),
      object.send('a', 'open'),
      object.send('b'),
      object.send('c', 'open'),
    ]);
    expect(object.received).toEqual(['first', ['open a', 'finish b', 'open c']]);
    expect(answers).toEqual(['answer to first', 'answer to open a', 'answer to finish b', 'answer to open c']);
  });

  it('never travels with those of another customer', async () => {
    const objects = [
      objectOf('same name', 'one organization'),
      objectOf('same name', 'another one'),
      objectOf('other name', 'another one'),
    ];
    await Promise.all(
      objects.flatMap((object, index) => ['a', 'b', 'c'].map((text) => object.send(`${text}${index}`))),
    );
    expect(objects.map(({ received }) => received)).toEqual(
      [0, 1, 2].map((index) => [`a${index}`, [`finish b${index}`, `finish c${index}`]]),
    );
  });

  it('of callers who come back as soon as they are answered shares each message with all the others', async () => {
    const object = objectOf();
    const turns = 40;
    const callers = Array.from({ length: 8 }, async (_, caller) => {
      for (let turn = 0; turn < turns; turn += 1)
        expect(await object.send(`${caller} ${turn}`)).toMatch(`${caller} ${turn}`);
    });
    await Promise.all(callers);
    expect(object.received.filter((one) => one.length === 8 && typeof one !== 'string').length).toBeGreaterThan(
      turns / 2,
    );
    expect(object.received.flat().length).toBe(8 * turns);
  });

  it('goes by itself where the runtime does not keep what belongs to one request apart from the others', async () => {
    keepsApart(false);
    const object = objectOf();
    expect(await sentBy(object, ['first', 'a', 'b'])).toEqual(['answer to first', 'answer to a', 'answer to b']);
    expect(object.received).toEqual(['first', 'a', 'b']);
  });

  it('is one of a hundred of a message at most', async () => {
    const object = objectOf();
    const texts = Array.from({ length: 350 }, (_, index) => `command ${index}`);
    expect((await sentBy(object, texts)).map((answer) => /command \d+$/.exec(answer)?.[0])).toEqual(texts);
    expect(Math.max(...object.received.map((one) => (typeof one === 'string' ? 1 : one.length)))).toBe(100);
    expect(object.received.flat().length).toBe(350);
  });
});

describe('commands of callers who come back as soon as they are answered', () => {
  beforeEach(() => void vi.useFakeTimers({ now: START }));

  /**
   * A customer who is busy with messages of four commands; `come` sends more, and `sizes` says how large the messages
   * since were.
   */
  async function busyWithFour() {
    const object = objectOf();
    const come = (count: number) => {
      for (let index = 0; index < count; index += 1) void object.send(`command ${index}`);
    };
    const sizes = () => object.received.splice(0).map((one) => (typeof one === 'string' ? 1 : one.length));
    come(5);
    await vi.advanceTimersByTimeAsync(10);
    expect(sizes()).toEqual([1, 4]);
    return { come, sizes };
  }

  it('travel as soon as as many are there as last time, once nobody else followed', async () => {
    const { come, sizes } = await busyWithFour();
    come(4);
    await settle();
    expect(sizes(), 'others may follow').toEqual([]);
    come(1);
    await vi.advanceTimersByTimeAsync(5);
    expect(sizes()).toEqual([5]);
    come(5);
    await vi.advanceTimersByTimeAsync(5);
    expect(sizes()).toEqual([5]);
    come(5);
    await settle();
    expect(sizes(), 'nobody did').toEqual([5]);
  });

  it('wait for each other for 5 ms at most, and for fewer where fewer come', async () => {
    const { come, sizes } = await busyWithFour();
    come(2);
    await vi.advanceTimersByTimeAsync(4);
    expect(sizes()).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(sizes()).toEqual([2]);
    come(3);
    await vi.advanceTimersByTimeAsync(5);
    expect(sizes()).toEqual([3]);
  });

  it('do not wait for ever for those who keep following one by one', async () => {
    const { come, sizes } = await busyWithFour();
    come(4);
    let looks = 0;
    for (let went: number[] = []; went.length === 0 && looks < 50; went = sizes()) {
      await settle();
      come(1);
      vi.advanceTimersToNextTimer();
      await settle();
      looks += 1;
    }
    expect(looks).toBe(10);
  });
});

describe('where something fails', () => {
  beforeEach(atOneMoment);

  it('a command that failed is sent again by itself, and takes no other with it', async () => {
    const object = objectOf();
    object.takesAll = async (texts) => texts.map((text) => (text.includes('bad') ? null : `answer to ${text}`));
    object.takes = async (text) => {
      if (text.includes('bad')) throw new Error('it is bad');
      return `answer to ${text}`;
    };
    const outcomes = await Promise.allSettled(['first', 'a', 'bad', 'b'].map((text) => object.send(text)));
    expect(outcomes.map(failed)).toEqual([
      'answer to first',
      'answer to finish a',
      'Error: it is bad',
      'answer to finish b',
    ]);
    expect(object.received.at(-1)).toBe('bad, again');
  });

  it('a message that breaks is sent again as a whole, marked as such', async () => {
    const object = objectOf();
    let breaks = true;
    object.takesAll = async (texts) => {
      if (breaks) {
        breaks = false;
        throw Object.assign(new Error('the object moved'), { retryable: true });
      }
      return [...texts];
    };
    vi.stubGlobal('scheduler', { wait: moment });
    expect(await sentBy(object, ['first', 'a', 'b'])).toEqual([
      'answer to first',
      'finish a, again',
      'finish b, again',
    ]);
  });

  it('commands of a message that an object cannot take are sent each by itself', async () => {
    const object = objectOf();
    object.takesAll = () => Promise.reject(new TypeError('an older version has no such method'));
    expect(await sentBy(object, ['first', 'a', 'b'])).toEqual([
      'answer to first',
      'answer to a, again',
      'answer to b, again',
    ]);
  });

  it('an overloaded object is not asked again', async () => {
    const object = objectOf();
    object.takesAll = () => Promise.reject(Object.assign(new Error('too much'), { retryable: true, overloaded: true }));
    const outcomes = await Promise.allSettled(['first', 'a', 'b'].map((text) => object.send(text)));
    expect(outcomes.map(failed).slice(1)).toEqual(
      Array(2).fill('ServiceUnavailable: the customer is not reachable for the moment'),
    );
    expect(object.received.length).toBe(2);
  });
});

describe('where the request that carries is gone', () => {
  beforeEach(() => void vi.useFakeTimers({ now: START }));

  it('with a message that is never answered, each of the others sends for itself after ten seconds', async () => {
    const object = objectOf();
    const first = object.send('first');
    object.takesAll = () => new Promise(() => undefined);
    const outcomes = Promise.all([object.send('a'), object.send('b', 'open')]);
    await vi.advanceTimersByTimeAsync(9_900);
    expect(object.received).toEqual(['first', ['finish a', 'open b']]);
    await vi.advanceTimersByTimeAsync(200);
    expect(await outcomes).toEqual(['answer to a, again', 'answer to b, again']);
    expect(await first).toBe('answer to first');
    expect(object.received.slice(2)).toEqual(['a, again', 'b, again']);
  });

  it('before it sent, others do not join it for more than a second', async () => {
    const object = objectOf();
    await Promise.all([object.send('first'), vi.advanceTimersByTimeAsync(1)]);
    // A request that is cancelled has its timers no more: that of the gathering is the second of a command that
    // gathers.
    const timer = globalThis.setTimeout;
    const lost = vi.spyOn(globalThis, 'setTimeout');
    lost.mockImplementationOnce(timer).mockImplementationOnce((() => 0) as unknown as typeof timer);
    const abandoned = object.send('abandoned');
    const joined = object.send('joined');
    await vi.advanceTimersByTimeAsync(990);
    expect(object.received).toEqual(['first']);
    await vi.advanceTimersByTimeAsync(20);
    const after = object.send('after');
    await vi.advanceTimersByTimeAsync(50);
    expect(await after).toBe('answer to after');
    await vi.advanceTimersByTimeAsync(9_000);
    expect(await Promise.all([abandoned, joined])).toEqual(['answer to abandoned, again', 'answer to joined, again']);
  });
});
