/**
 * The answers of test/fixtures/answers: a vendor's answer, the rule for reading it, the source of the rule, and the
 * resulting usage. `events` belong to a stream; a text is data that is not JSON.
 */
import { StreamUsage, type VendorUsage } from '../../src/vendors/usage.ts';

declare global {
  interface ImportMeta {
    /** Vite's: the modules whose paths match. */
    glob<Module>(pattern: string, options: { eager: true; import: 'default' }): Record<string, Module>;
  }
}

export interface GoldenAnswer {
  name: string;
  rule: string;
  source: string;
  endpoint: 'chat' | 'embeddings' | 'responses' | 'messages' | 'generateContent' | 'transcription' | 'images';
  answer?: unknown;
  events?: readonly unknown[];
  usage: VendorUsage;
}

const FILES = import.meta.glob<Omit<GoldenAnswer, 'name'>>('../fixtures/answers/*.json', {
  eager: true,
  import: 'default',
});

export const GOLDEN_ANSWERS: readonly GoldenAnswer[] = Object.entries(FILES).map(([path, golden]) => ({
  name: path.replace(/^.*\/|\.json$/g, ''),
  ...golden,
}));

/** The events as a vendor sends them. */
export function asEvents(events: readonly unknown[]): string {
  return events
    .map((event) => {
      const { type } = (event ?? {}) as { type?: unknown };
      const name = typeof type === 'string' ? `event: ${type}\n` : '';
      return `${name}data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`;
    })
    .join('');
}

export function streamRead(events: readonly unknown[]): StreamUsage {
  const usage = new StreamUsage();
  usage.push(asEvents(events));
  usage.end();
  return usage;
}
