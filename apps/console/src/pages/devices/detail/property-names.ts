/** Name of the property in which current agents report system info. */
export const SYSTEM_INFO = 'dev.nexigon.system.info'
/** Former name of the property `SYSTEM_INFO`. */
export const OLD_SYSTEM_INFO = 'dev.nexigon.systemInfo'
/** Current and former name of the system info property. If a device has both, the newer value is used. */
export const SYSTEM_INFO_NAMES = [SYSTEM_INFO, OLD_SYSTEM_INFO]

/** Name of the property in which update scripts report their status. */
export const OTA_STATUS = 'dev.nexigon.ota.status'

/** Property in which the operator sets the tag from which a device takes its updates (docs/protocol.md 4.3). */
export const OTA_CONFIG = 'dev.nexigon.ota.config'

/** Name of the property in which a device reports its health. */
export const HEALTH = 'dev.nexigon.system.health'
