/**
 * An Express application with one call per request; the handler adds the vendor's usage.
 */
import type { AddressInfo } from 'node:net';
import express from 'express';
import OpenAI from 'openai';
import { callOf, callPerRequest } from '../express.ts';
import { createClient } from '../index.ts';
import { wrapOpenAI } from '../vendors.ts';
import { target } from './target.ts';

const callmeter = createClient(await target());
const app = express();

app.use(
  '/chat',
  callPerRequest({ callmeter, begin: (req: express.Request) => ({ customerId: req.get('x-customer') ?? 'unknown' }) }),
);
app.post('/chat', express.text(), async (req, res) => {
  const openai = wrapOpenAI(new OpenAI(), { call: callOf(res) });
  const answer = await openai.chat.completions.create({
    model: 'gpt-6-luna',
    messages: [{ role: 'user', content: req.body }],
  });
  res.json({ answer: answer.choices[0]?.message.content });
});

const server = app.listen(0, '127.0.0.1', async () => {
  const headers = { 'x-customer': 'alice', 'Content-Type': 'text/plain' };
  const { port } = server.address() as AddressInfo;
  const response = await fetch(`http://127.0.0.1:${port}/chat`, {
    method: 'POST',
    headers,
    body: 'What is the capital of France?',
  });
  console.log(await response.text());
  server.close();
});
