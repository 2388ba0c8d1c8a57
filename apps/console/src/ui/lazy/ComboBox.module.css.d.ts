declare const styles: {
  readonly box: string
  readonly filter: string
  readonly options: string
}
export default styles
