/** What the objects of this process inherit: nothing that a source gives may ever change it. */
export function prototypes(): string {
  return [Object, Array, Function, String, Map, Promise, Error]
    .map(({ prototype }) => Reflect.ownKeys(prototype).map(String).join())
    .join('\n');
}
