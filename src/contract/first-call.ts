/**
 * The commands that make an organization's first call, to paste into a shell: begin a call and end it with its usage.
 */

/** Stands in the commands for a key, which is shown only at its creation. */
export const KEY_PLACEHOLDER = 'YOUR_API_KEY';

export function firstCallCommands(address: string, key: string): string {
  const request = (path: string, ...rest: string[]) =>
    [
      `curl -s "${address}${path}" -H "Authorization: Bearer $KEY"`,
      "  -H 'Accept: application/vnd.service.v1+json' -H 'Content-Type: application/json'",
      ...rest.map((part) => `  ${part}`),
    ].join(' \\\n');
  return [
    `KEY='${key}'`,
    'CALL="first-call-$(date +%s)"',
    request('/call_begin', '-H "Idempotency-Key: $CALL"', `-d '{"customerId":"first-customer"}'`),
    request(
      '/call_end',
      `-d '{"callId":"'"$CALL"'","providerUsed":"openai","modelUsed":"gpt-6-luna","inputTokens":1200,"responseTokens":350}'`,
    ),
  ].join('\n');
}
