/** Every limit that both sides of a call know, in one place (decisions on property values and events). */

/** Largest body of an action, over HTTP and over an executor channel, in bytes. */
export const MAX_ACTION_BODY_BYTES = 8 * 1024 * 1024
/** Longest JWT with the claims of somebody, in characters: it must fit into a body with what stands around it. */
export const MAX_DEVICE_JWT_LENGTH = MAX_ACTION_BODY_BYTES - 1024
/** Largest JSON text of one property value, in bytes. */
export const MAX_PROPERTY_VALUE_BYTES = 1024 * 1024
/** Deepest nesting of JSON that the hub reads. */
export const MAX_JSON_DEPTH = 64
/** Most events in one call. */
export const MAX_EVENTS_PER_CALL = 1000
/** Largest body and attributes of one event together, in bytes of JSON. */
export const MAX_EVENT_BYTES = 64 * 1024
/** Largest page of a list. */
export const MAX_PAGE_SIZE = 500
/** Longest cursor, in characters: base 64 of the longest address of a mail, each character of it in four bytes, and what is around it. */
export const MAX_CURSOR_LENGTH = 2048
/** Most conditions on properties in one filter of a device list. */
export const MAX_PROPERTY_CONDITIONS = 8
/** Longest text that a list is filtered by, in characters. */
export const MAX_FILTER_LENGTH = 256
/** Longest name of a kind of event, action or job that a list is filtered by, in characters. */
export const MAX_KIND_LENGTH = 128
/** Longest text that a property is compared with, in characters. */
export const MAX_CONDITION_LENGTH = 256
/** Shortest password, in characters (spec 9). */
export const MIN_PASSWORD_LENGTH = 8
/** Longest password, in characters. */
export const MAX_PASSWORD_LENGTH = 256
/** Longest name of an organization, project, token or device, in characters. */
export const MAX_NAME_LENGTH = 128
/** Longest name that a person gives themself when signing up, in characters. */
export const MAX_SIGN_UP_NAME_LENGTH = 64
/** Longest address of a mail, in characters. */
export const MAX_EMAIL_LENGTH = 254
/** Most rows that a bare call of a log answers; paged calls reach all of them. */
export const MAX_LOG_ROWS = 1000
/** How young a sign-in must be for passwords, tokens and administration, in seconds (decisions). */
export const RECENT_SIGN_IN_SECS = 15 * 60
/** Largest JSON text of the metadata of a package, a version or a file, in bytes. */
export const MAX_METADATA_BYTES = 64 * 1024
/** Longest name of a file in a version with its folders, in characters (catalogue 3.16). */
export const MAX_FILENAME_LENGTH = 256
/** Longest part of it between slashes, in bytes of UTF-8: what file systems take. */
export const MAX_FILENAME_PART_BYTES = 255
