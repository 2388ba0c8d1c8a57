import { anyText, oneOf } from '../../../lib/app/search.ts'
import { CONNECTION_RANGES } from './connection/ranges.ts'

/** Protocols of web servers that the hub can open. */
export const WEB_PROTOCOLS = ['http', 'https'] as const

/**
 * Search parameters of the page of a device. `connection` is the time range of the section Connection. `port`, `protocol` and `path` are what the
 * section HTTP Proxy offers to open: the hub leads here from a device's page that redirects to another port, or has another protocol.
 */
export const deviceSearch = {
  connection: oneOf(CONNECTION_RANGES.map(({ value }) => value)),
  port: anyText,
  protocol: oneOf(WEB_PROTOCOLS),
  path: anyText,
}
