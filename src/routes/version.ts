/** Version of this package. A test compares it with `package.json`, which a bundled app may not contain. */
export const VERSION = '1.0.0';
