/** Every workflow under the name that Temporal knows it by; the bundle's entry. */

export { invoice } from './invoice.js';
