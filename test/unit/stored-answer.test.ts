/**
 * Promise: a retry gets a stored stream in the form of its first answer, also one that a version without kinds stored.
 */
import { expect, test } from 'vitest';
import { DIALECTS } from '../../src/gateway/dialects/dialects.ts';
import { replayedAnswer } from '../../src/gateway/stored-answer.ts';

test.each([
  [{ provider: 'anthropic' }, true],
  [{ provider: 'claude-eu' }, false],
  [{ kind: 'anthropic' }, true],
  [{}, false],
])(
  'a stored stream of %j is read in the form in which its vendor was asked: translated %j',
  async (vendor, isTranslated) => {
    const events = [
      { type: 'message_start', message: { id: 'm', model: 'claude', usage: { input_tokens: 1, output_tokens: 1 } } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hi' } },
    ];
    const body = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
    const response = { status: 200, headers: {}, body, isStream: true, ...vendor };
    const request = { model: 'claude', messages: [], stream: true };
    const answer = replayedAnswer({ response, end: {} } as never, DIALECTS.createChatCompletion, request);
    const text = await new Response(answer.body).text();
    expect(text.includes('chat.completion.chunk')).toBe(isTranslated);
  },
);
