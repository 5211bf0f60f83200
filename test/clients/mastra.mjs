// An agent of Mastra as its users write it: an answer, a stream, a tool with its result, and an object of a schema.
import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { z } from 'zod';

const { CALLMETER_URL, CALLMETER_KEY } = process.env;
const [question] = process.argv.slice(2);
const City = z.object({ city: z.string() });
const weather = createTool({
  id: 'get_weather',
  description: 'The weather of a city',
  inputSchema: City,
  execute: async ({ city }) => ({ weather: `It rains in ${city}` }),
});
const agent = new Agent({
  id: 'forecaster',
  name: 'Forecaster',
  instructions: 'Be brief.',
  model: { id: 'callmeter/gpt-6-luna', url: `${CALLMETER_URL}/v1`, apiKey: CALLMETER_KEY },
  tools: { weather },
});

console.log(`answer: ${(await agent.generate(question)).text}`);
let streamed = '';
for await (const part of (await agent.stream(question)).textStream) streamed += part;
console.log(`stream: ${streamed}`);
console.log(`tool: ${(await agent.generate('What is the weather?')).text}`);
const { object } = await agent.generate('Which city?', { structuredOutput: { schema: City } });
console.log(`object: ${JSON.stringify(object)}`);
