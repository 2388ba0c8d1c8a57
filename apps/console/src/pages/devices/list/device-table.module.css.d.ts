declare const styles: {
  readonly broad: string
  readonly chosen: string
  readonly noMatch: string
  readonly pick: string
  readonly property: string
  readonly select: string
  readonly selectColumn: string
  readonly selecting: string
  readonly table: string
  readonly view: string
}
export default styles
