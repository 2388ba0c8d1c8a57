/** Limits that both the hub and its clients know (docs/decisions.md, "Devices"). */

/** Largest input or output of an action in bytes, over HTTP and over the executor channel of a link. */
export const MAX_ACTION_BODY_BYTES = 8 * 1024 * 1024
/** Longest JWT of `devices_IssueDeviceToken`, in characters. It must fit into an action body with the surrounding JSON. */
export const MAX_DEVICE_JWT_LENGTH = MAX_ACTION_BODY_BYTES - 1024
/** Largest JSON text of one property value, in bytes. */
export const MAX_PROPERTY_VALUE_BYTES = 1024 * 1024
/** Deepest nesting of JSON that the hub accepts. */
export const MAX_JSON_DEPTH = 64
/** Maximum number of events in one call. */
export const MAX_EVENTS_PER_CALL = 1000
/** Largest sum of body and attributes of one event, in bytes of JSON. */
export const MAX_EVENT_BYTES = 64 * 1024
/** Largest page of a list, in items. */
export const MAX_PAGE_SIZE = 500
/** Maximum number of properties that a person can pin in a project. */
export const MAX_PINS = 50
/** Maximum number of entries in a page of a device's timeline. */
export const MAX_TIMELINE_PAGE = 200
/**
 * Longest cursor of a list, in characters. A cursor may contain a property's value of 2,000 bytes. JSON escapes double its length if it
 * consists of quotes, and base64 adds a third.
 */
export const MAX_CURSOR_LENGTH = 6144
/** Maximum number of devices or certificates in one bulk action. */
export const MAX_BULK_ITEMS = 20_000
/** Number of items up to which a bulk action is run within its request. Above it, a job runs the action. */
export const MAX_INLINE_BULK_ITEMS = 200
/** Seconds between the start of a bulk deletion or rejection with more than `MAX_INLINE_BULK_ITEMS` items and its first item. */
export const BULK_UNDO_SECS = 10
/** Time after the end of a bulk action of labels or names in which it can be undone, in seconds. */
export const BULK_CHANGE_UNDO_SECS = 600
/** Maximum number of rows of an import of names and labels. */
export const MAX_IMPORT_ROWS = 100_000
/** Maximum number of rows of an import in one call. */
export const MAX_IMPORT_PORTION = 5_000
/** Longest cell of an import, in characters. */
export const MAX_IMPORT_CELL_LENGTH = 1024
/** Maximum number of steps of an operation. */
export const MAX_OPERATION_STEPS = 100
/** Maximum number of items of work that a device claims in one call. */
export const MAX_CLAIMED_WORK = 20
/** Longest description of an operation, and longest error that a device reports for a step, in characters. */
export const MAX_OPERATION_TEXT_LENGTH = 4096
/** Time after which a command of an operation has timed out unless its step names another time, in seconds. */
export const DEFAULT_COMMAND_SECS = 3600
/** Time after which a task of an operation has timed out unless its step names another time, in seconds. */
export const DEFAULT_TASK_SECS = 86_400
/** Longest time-out of a command, in seconds. */
export const MAX_COMMAND_SECS = 86_400
/** Longest time-out of a task or of a wait for a property, in seconds. */
export const MAX_TASK_SECS = 604_800
/** Maximum number of property conditions in one filter of a device list. */
export const MAX_PROPERTY_CONDITIONS = 8
/** Longest time in a condition on the time last seen: 10 years, in seconds. */
export const MAX_LAST_SEEN_SECS = 10 * 365 * 86_400
/** Maximum number of devices that a filter names by their ids. */
export const MAX_LISTED_DEVICES = 500
/** Maximum number of properties that a device list shows as columns. */
export const MAX_PROPERTY_COLUMNS = 8
/**
 * Maximum number of parts between dots of the path of a column or of a property by which a list is sorted. Each part is a further way to
 * read the path of each device.
 */
export const MAX_COLUMN_PATH_PARTS = 8
/** Maximum number of parts between dots of a property in a condition. */
export const MAX_CONDITION_PATH_PARTS = 32
/** Maximum number of filters whose devices one call counts. */
export const MAX_COUNTED_FILTERS = 12
/** Maximum number of property names that one call of `projects_QueryPropertyNames` returns. */
export const MAX_SUGGESTED_NAMES = 200
/** Maximum number of values that one call of `projects_QueryPropertyValues` returns. */
export const MAX_SUGGESTED_VALUES = 50
/** Number of devices above which the console shows a project as counts and a line of the last 24 h, instead of one mark for each device. */
export const MAX_MARKED_DEVICES = 200
/** Maximum length, in characters, of a text in a filter of a list. */
export const MAX_FILTER_LENGTH = 256
/** Maximum length, in characters, of the name of an event, of an action or of a kind of job in a filter of a list. */
export const MAX_KIND_LENGTH = 128
/** Maximum length, in characters, of a text with which a filter compares a property. */
export const MAX_CONDITION_LENGTH = 256
/** Shortest password, in characters (docs/specification.md 9). */
export const MIN_PASSWORD_LENGTH = 8
/** Longest password, in characters. */
export const MAX_PASSWORD_LENGTH = 256
/** Longest name of an organization, project, token or device, in characters. */
export const MAX_NAME_LENGTH = 128
/** Longest name of a repository, package or tag in a path, in characters. */
export const MAX_PATH_NAME_LENGTH = 128
/** Longest name of a person at sign-up, in characters. */
export const MAX_SIGN_UP_NAME_LENGTH = 64
/** Longest email address, in characters. */
export const MAX_EMAIL_LENGTH = 254
/** Maximum number of log rows that a call without `limit` returns. Paged calls reach all rows. */
export const MAX_LOG_ROWS = 1000
/** Maximum number of jobs that `jobs_GetSummary` reads. */
export const MAX_SUMMARIZED_JOBS = 20_000
/** Maximum number of runs of one kind of job that `jobs_GetSummary` returns. */
export const MAX_SUMMARIZED_RUNS = 60
/**
 * Maximum age of a sign-in, in seconds, for actions that change passwords, tokens or administration (docs/decisions.md,
 * "Actions and audit").
 */
export const RECENT_SIGN_IN_SECS = 15 * 60
/** Largest JSON text of the metadata of a package, a version or a file, in bytes. */
export const MAX_METADATA_BYTES = 64 * 1024
/** Longest path of a file in a package version, in characters (docs/api.md 4.5). */
export const MAX_FILENAME_LENGTH = 256
/** Longest part of a file's path between slashes, in bytes of UTF-8: the limit of common file systems. */
export const MAX_FILENAME_PART_BYTES = 255

/** Longest address of a webhook or collector, in characters. */
export const MAX_ADDRESS_LENGTH = 2048
/** Longest template of a webhook, in characters. */
export const MAX_TEMPLATE_LENGTH = 20 * 1024
/** Hours for which the former secret of a webhook signs too after a change. */
export const FORMER_SECRET_HOURS = 24
/** Maximum number of types of messages that a webhook or a reader of the feed of events names. */
export const MAX_EVENT_TYPES = 100
/** Maximum number of events in one answer of the feed of events. */
export const MAX_FEED_PAGE = 500
/** Longest time in seconds for which `events_Query` waits for an event. Proxies usually end a silent request after 30 s or more. */
export const MAX_FEED_WAIT_SECS = 25

/** HTML elements that the console allows in the operator's banner. The console shows only the text of other elements. */
export const BANNER_TAGS = ['a', 'b', 'strong', 'em', 'code', 'br'] as const

/** Longest name of an instance, in characters. The sign-in page and page titles show the name. */
export const MAX_INSTANCE_NAME_LENGTH = 64
/** Largest PEM text of a certificate, in characters. */
export const MAX_CERTIFICATE_LENGTH = 12 * 1024
/** Largest signature in a renewal in base64, in characters: that of an RSA key of 16,384 bits. */
export const MAX_SIGNATURE_LENGTH = 2736
/** Maximum number of unexpired certificates that a device has announced itself. */
export const MAX_SUCCESSORS = 2
/** Minimum time between two certificates that a device announces, in seconds. */
export const SUCCESSOR_REST_SECS = 86_400
/** Shortest remaining validity of a certificate that a device announces, in seconds. It can announce the next one only a day later. */
export const MIN_SUCCESSOR_SECS = 2 * 86_400
/** Time before the end of a device's certificates from which on it is a problem, in days. */
export const CERTIFICATE_ENDS_SOON_DAYS = 30
/** Largest value of a deployment token's limits of new devices at once and of new devices per hour. */
export const MAX_NEW_DEVICES = 1_000_000
/** Largest number of devices that may enrol with one deployment token. */
export const MAX_TOKEN_DEVICES = 2_000_000_000

/** Device, address or other subject by which a limit that was hit is counted. At least the id of the limit's scope is set. */
export type LimitSubject = {
  organizationId?: string
  projectId?: string
  deviceId?: string
  tokenId?: string
  repositoryId?: string
  packageId?: string
  userId?: string
  /** Client IP address. Of an IPv6 address only the first 64 bits count. */
  address?: string
}
