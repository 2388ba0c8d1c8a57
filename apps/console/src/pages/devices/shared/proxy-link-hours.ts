/** Lifetime of a link to a device's web pages, in hours (docs/specification.md 9). */
export const PROXY_LINK_HOURS = 2
