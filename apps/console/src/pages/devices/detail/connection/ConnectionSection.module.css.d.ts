declare const styles: {
  readonly chart: string
  readonly dates: string
  readonly history: string
  readonly legend: string
  readonly section: string
  readonly share: string
}
export default styles
