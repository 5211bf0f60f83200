/**
 * A Hono application with one call per request; the handler adds the vendor's usage.
 */
import { Hono } from 'hono';
import OpenAI from 'openai';
import { type CallVariables, callPerRequest } from '../hono.ts';
import { createClient } from '../index.ts';
import { wrapOpenAI } from '../vendors.ts';
import { target } from './target.ts';

const callmeter = createClient(await target());
const app = new Hono<{ Variables: CallVariables }>();

app.use(
  '/chat',
  callPerRequest({
    callmeter,
    begin: (c) => ({ customerId: c.req.header('x-customer') ?? 'unknown', feature: 'chat' }),
  }),
);
app.post('/chat', async (c) => {
  const openai = wrapOpenAI(new OpenAI(), { call: c.get('call') });
  const answer = await openai.chat.completions.create({
    model: 'gpt-6-luna',
    messages: [{ role: 'user', content: await c.req.text() }],
  });
  return c.json({ callId: c.get('call').callId, answer: answer.choices[0]?.message.content });
});

const response = await app.request('/chat', {
  method: 'POST',
  headers: { 'x-customer': 'alice' },
  body: 'What is the capital of France?',
});
const { callId, answer } = (await response.json()) as { callId: string; answer: string };
const { status, costUSD } = await callmeter.readCall({ callId });
console.log(`${answer} (${status}, $${costUSD})`);
