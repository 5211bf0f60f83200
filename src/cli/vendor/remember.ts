/**
 * The memory of the vendor for trying out is bounded: the oldest value is forgotten first.
 */
export function remember<Value>(map: Map<string, Value>, id: string, value: Value, max: number): void {
  map.set(id, value);
  const [oldest] = map.keys();
  if (map.size > max && oldest !== undefined) map.delete(oldest);
}
