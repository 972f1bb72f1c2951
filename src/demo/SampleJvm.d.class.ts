/** SampleJvm.java as compiled by JDK 17 with `javac --release 8 -g:none`, in Base64. Every JRE from 8 on runs it. */
export declare const SAMPLE_JVM_CLASS: string;
