declare const styles: {
  readonly count: string
  readonly legend: string
  readonly linkedText: string
  readonly menu: string
  readonly none: string
  readonly note: string
  readonly stepHead: string
  readonly subline: string
  readonly text: string
  readonly version: string
}
export default styles
