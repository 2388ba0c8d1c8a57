import { elsewhereFolders } from '../../platform/database/server/embedded-home.ts'
import { type Finding, ok, type Probe, warning } from '../../platform/operator/finding.ts'

/**
 * Check for embedded databases that the hub has put below /var/lib (`place`), because the database server could not enter the data folder.
 * Such a database is orphaned if its data folder is gone, unknown, or refers to another database.
 */
export function leftDatabasesProbe(place?: string): Probe {
  return {
    name: 'left databases',
    async run() {
      const folders = await elsewhereFolders(place)
      const findings = folders.flatMap<Finding>(({ folder, dataDir, lastStart, state }) => {
        if (state === 'used') return []
        const when = lastStart ? `, last started on ${lastStart.toISOString().slice(0, 10)}` : ''
        const of = dataDir === undefined ? 'an unknown data folder' : `the data folder ${dataDir}`
        return state === 'unknown'
          ? [
              warning(
                `This account cannot tell whether ${of} still uses the database in ${folder}${when}.`,
                'Run this as root.',
              ),
            ]
          : [
              warning(
                `Nothing leads any more to the database in ${folder} of ${of}${when}.`,
                `If its data folder was moved, start the hub with it. If it is gone for good: muster-hub gc --delete-database ${folder}`,
              ),
            ]
      })
      return findings.length > 0 ? findings : ok('No database without its data folder was found.')
    },
    advice: 'Run this as root.',
  }
}
