/** What a store refuses. `message` says what to do. */
export class StoreError extends Error {
  override readonly name = 'StoreError';

  constructor(
    readonly code: 'schema_missing' | 'schema_newer' | 'source_taken' | 'source_missing',
    message: string,
  ) {
    super(message);
  }
}
