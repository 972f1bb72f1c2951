import { expect, it } from 'vitest';
import { parsePrometheusJvm } from '../../../../src/jvm/http/prometheus.ts';
import { toServerGauges, toServerState } from '../../../../src/jvm/server-reading.ts';

const ALL = {
  ...{ 'server.threads.busy': 17, 'server.threads.max': 200, 'server.connections': 40 },
  ...{ 'server.jvm.threads.live': 64, 'server.jvm.threads.daemon': 60, 'server.jvm.threads.peak': 70 },
  ...{ 'server.process.descriptors.open': 120, 'server.process.descriptors.max': 1_024 },
};

it.each([
  [
    'Micrometer',
    ALL,
    `jvm_memory_used_bytes{id="Eden",area="heap"} 1
tomcat_threads_busy_threads{name="http-nio-8443"} 1
tomcat_threads_busy_threads{name="http-nio-8080"} 17
tomcat_threads_config_max_threads{name="http-nio-8080"} 200
tomcat_connections_current_connections{name="http-nio-8080"} 40
jvm_threads_live_threads 64
jvm_threads_daemon_threads 60
jvm_threads_peak_threads 70
process_cpu_time_ns_total 3.5E9
process_files_open_files 120
process_files_max_files 1024`,
  ],
  [
    'client_java, with the example rules for Tomcat',
    { ...ALL, 'server.process.memory': 5e8, 'server.process.cpu': 2.5 },
    `jvm_memory_used_bytes{area="heap"} 1
tomcat_threadpool_currentthreadsbusy{port="8080",protocol="http-nio"} 17
tomcat_threadpool_maxthreads{port="8080",protocol="http-nio"} 200
tomcat_threadpool_connectioncount{port="8080",protocol="http-nio"} 40
jvm_threads_current 64
jvm_threads_daemon 60
jvm_threads_peak 70
process_start_time_seconds 1.7e9
process_cpu_seconds_total 3.5
process_resident_memory_bytes 5e8
process_open_fds 120
process_max_fds 1024`,
  ],
  [
    'an exporter that stands beside the server, but not what that is itself',
    { 'server.threads.busy': 17 },
    `jmx_exporter_build_info{name="jmx_prometheus_httpserver"} 1
java_lang_Memory_HeapMemoryUsage_used 1
jvm_threads_current 64
process_cpu_seconds_total 3.5
tomcat_threadpool_currentthreadsbusy{port="8080",protocol="http-nio"} 17`,
  ],
])('the capacity of a server is read from %s', (_, capacity, text) => {
  const { server = {} } = parsePrometheusJvm(`${text}\n`);
  const before = { process: { id: '1700000000', cpuSeconds: 1 }, seconds: 1 };
  const { gauges } = toServerGauges(toServerState(server, 8080, before));
  expect(Object.fromEntries([...gauges].map(([name, { read }]) => [name, read()]))).toEqual(capacity);
});
