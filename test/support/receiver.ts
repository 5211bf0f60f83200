/**
 * Receivers of webhooks in place of the network, for tests inside workerd: they record their requests, and answer as a
 * test sets.
 */
import { Webhook as Verifier } from 'standardwebhooks';
import { expect, vi } from 'vitest';

export interface Received {
  url: string;
  eventId: string;
  headers: Record<string, string>;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it freely
  body: any;
}

type Answer = (received: Received, signal: AbortSignal) => Response | Promise<Response>;

export class Receivers {
  readonly received: Received[] = [];
  readonly #answers = new Map<string, Answer>();

  /** Takes the place of `fetch` until the test unstubs it. */
  static stub(): Receivers {
    const receivers = new Receivers();
    vi.stubGlobal('fetch', (url: URL, init: RequestInit & { signal: AbortSignal }) => receivers.#take(url, init));
    return receivers;
  }

  /** How an address answers from now on; else with 200. */
  answer(url: string, answer: Answer | number): void {
    this.#answers.set(url, typeof answer === 'number' ? () => new Response(null, { status: answer }) : answer);
  }

  at(url: string): Received[] {
    return this.received.filter((one) => one.url === url);
  }

  async #take(target: URL, { headers, body, redirect, signal }: RequestInit & { signal: AbortSignal }) {
    expect(redirect).toBe('manual');
    const url = String(target);
    const given = Object.fromEntries(new Headers(headers));
    const text = String(body);
    const received = { url, eventId: given['webhook-id'] ?? '', headers: given, text, body: JSON.parse(text) };
    this.received.push(received);
    return (await this.#answers.get(url)?.(received, signal)) ?? new Response('ok');
  }
}

/** Whether the request is signed with the secret, as the library of Standard Webhooks judges. */
export function isSigned({ text, headers }: Received, secret: string): boolean {
  try {
    new Verifier(secret).verify(text, headers);
    return true;
  } catch {
    return false;
  }
}
