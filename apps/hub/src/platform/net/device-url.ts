import type { Config } from '../config/config.ts'

/** URL to which devices connect: the public URL, with the port that asks for their certificates if there is one. */
export function deviceUrl(
  { tls, devicePort }: Pick<Config, 'tls' | 'devicePort'>,
  publicUrl: string,
): string {
  const url = new URL(publicUrl)
  if (tls && devicePort !== undefined) url.port = String(devicePort)
  return url.origin
}
