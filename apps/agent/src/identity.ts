import { loadDeviceCertificate } from './certificate.ts'
import type { AgentConfig } from './config.ts'
import { fingerprintOfScript } from './fingerprint.ts'
import type { HubCredentials } from './hub-connection.ts'
import { machineFingerprint } from './machine-fingerprint.ts'
import { finishReplacement } from './next-certificate.ts'

/**
 * Loads the fingerprint and certificate of this device, and creates missing ones. Throws `ConfigError` for an invalid script or
 * file.
 */
export async function loadCredentials(config: AgentConfig, signal?: AbortSignal): Promise<HubCredentials> {
  const fingerprint =
    config.fingerprintScript === undefined
      ? await machineFingerprint(config.dataDir)
      : await fingerprintOfScript(config.fingerprintScript, signal)
  await finishReplacement(config)
  const certificate = await loadDeviceCertificate(config.certificatePath, config.keyPath)
  return {
    hubUrl: config.hubUrl,
    token: config.token,
    fingerprint,
    certificate,
    acceptInvalidCertificates: config.acceptInvalidCertificates,
    proxy: config.proxy,
  }
}
