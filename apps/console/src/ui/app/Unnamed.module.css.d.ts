declare const styles: {
  readonly unnamed: string
}
export default styles
