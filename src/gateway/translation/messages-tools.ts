/**
 * Tools, the choice between them, and web search, in Anthropic's form.
 */
import type { Tool, ToolChoice, WebSearchTool20250305 } from '@anthropic-ai/sdk/resources/messages';
import { type Fields, fieldsOrEmpty, isFields } from '../../vendors/usage/figures.ts';
import { USES_OF_SEARCH_MODEL } from '../demand/demand.ts';
import { readCacheMark } from './messages-content.ts';
import type { Refusals } from './refusals.ts';

export interface ToolMembers {
  tools?: (Tool | WebSearchTool20250305)[];
  tool_choice?: ToolChoice;
}

export function toolMembers(body: Fields, refusals: Refusals): ToolMembers {
  const tools = [
    ...refusals
      .list(body.tools, 'tools')
      .flatMap((tool, index) => readTool(fieldsOrEmpty(tool), `tools[${index}]`, refusals)),
    ...webSearch(body.web_search_options, refusals),
  ];
  const choice = toToolChoice(body.tool_choice, refusals);
  if (tools.length === 0) {
    // Anthropic refuses a choice without tools.
    if (choice !== undefined && choice.type !== 'auto' && choice.type !== 'none')
      refusals.add('tool_choice', 'needs `tools`');
    return {};
  }
  if (body.parallel_tool_calls !== false || choice?.type === 'none')
    return { tools, ...(choice && { tool_choice: choice }) };
  return { tools, tool_choice: { ...(choice ?? { type: 'auto' }), disable_parallel_tool_use: true } };
}

function readTool(tool: Fields, at: string, refusals: Refusals): Tool[] {
  if (tool.type !== 'function') {
    refusals.add(`${at}.type`, 'must be `function`: Anthropic calls no tools of another kind');
    return [];
  }
  refusals.unknown(tool, ['type', 'function', 'cache_control'], at);
  const { name, description, parameters, strict, ...rest } = refusals.object(tool.function, `${at}.function`);
  refusals.unknown(rest, ['cache_control'], `${at}.function`);
  const schema = parameters ?? {};
  if (!isFields(schema) || (schema.type ?? 'object') !== 'object')
    refusals.add(`${at}.function.parameters`, 'must be the schema of an object');
  if (strict != null && typeof strict !== 'boolean') refusals.add(`${at}.function.strict`, 'must be true or false');
  return [
    {
      name: refusals.text(name, `${at}.function.name`),
      ...(description != null && { description: refusals.text(description, `${at}.function.description`) }),
      input_schema: { ...fieldsOrEmpty(schema), type: 'object' },
      ...(strict === true && { strict }),
      ...readCacheMark(rest, `${at}.function`, refusals),
      ...readCacheMark(tool, at, refusals),
    },
  ];
}

function toToolChoice(choice: unknown, refusals: Refusals): ToolChoice | undefined {
  switch (choice) {
    case undefined:
    case null:
      return undefined;
    case 'auto':
    case 'none':
      return { type: choice };
    case 'required':
      return { type: 'any' };
  }
  const { type, function: chosen, ...rest } = fieldsOrEmpty(choice);
  if (type === 'function') {
    refusals.unknown(rest, [], 'tool_choice');
    refusals.unknown(fieldsOrEmpty(chosen), ['name'], 'tool_choice.function');
    return { type: 'tool', name: refusals.text(fieldsOrEmpty(chosen).name, 'tool_choice.function.name') };
  }
  const why = type === 'allowed_tools' ? ': name only the allowed tools in `tools`' : '';
  refusals.add('tool_choice', `must be none, auto, required or a function${why}`);
  return undefined;
}

/** The version of the tool that every searching model takes. */
function webSearch(options: unknown, refusals: Refusals): WebSearchTool20250305[] {
  if (options == null) return [];
  const {
    search_context_size: size,
    user_location: location,
    ...rest
  } = refusals.object(options, 'web_search_options');
  refusals.unknown(rest, [], 'web_search_options');
  if (size != null && size !== 'medium')
    refusals.add('web_search_options.search_context_size', 'cannot be chosen: Anthropic has one size');
  // As many uses as the hold of the call counts.
  const tool = { type: 'web_search_20250305', name: 'web_search', max_uses: USES_OF_SEARCH_MODEL } as const;
  if (location == null) return [tool];
  const at = 'web_search_options.user_location';
  const { approximate, ...kind } = refusals.object(location, at);
  refusals.unknown(kind, ['type'], at);
  const place = refusals.object(approximate, `${at}.approximate`);
  refusals.unknown(place, ['city', 'country', 'region', 'timezone'], `${at}.approximate`);
  const given = Object.entries(place).filter(([, value]) => value != null);
  const texts = given.map(([name, value]) => [name, refusals.text(value, `${at}.approximate.${name}`)]);
  return [{ ...tool, user_location: { type: 'approximate', ...Object.fromEntries(texts) } }];
}
