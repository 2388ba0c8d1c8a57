declare const styles: {
  readonly hidden: string
  readonly placeholder: string
  readonly settled: string
}
export default styles
