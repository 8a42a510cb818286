/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/gbench.h"

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace {

benchmark::State &state_of(gbench_state *state) {
    return *reinterpret_cast<benchmark::State *>(state);
}

void refuse_flag() {
    std::cerr << "armq-bench: a --benchmark_* flag has a value that is not allowed; formats are "
                 "console, json, csv; time units ns, us, ms, s\n";
    std::exit(2);
}

/* A registered benchmark; Google Benchmark owns it. A class rather than a lambda: static analysis
 * takes the library's own lambda wrapper for a leak. */
class Entry : public benchmark::Fixture {
  public:
    Entry(const char *name, gbench_function function, void *arg) : function_(function), arg_(arg) {
        SetName(name);
        UseRealTime();
    }

  protected:
    void BenchmarkCase(benchmark::State &state) override {
        function_(reinterpret_cast<gbench_state *>(&state), arg_);
    }

  private:
    gbench_function function_;
    void *arg_;
};

using Run = benchmark::BenchmarkReporter::Run;

gbench_observer watching; /* of the run that goes on */

gbench_result result_of(const Run &run) {
    return {
        run.run_name.function_name.c_str(),
        run.error_occurred ? run.error_message.c_str() : nullptr,
        run.run_type == Run::RT_Aggregate ? run.aggregate_name.c_str() : nullptr,
        run.GetAdjustedRealTime() / benchmark::GetTimeUnitMultiplier(run.time_unit),
    };
}

const char *vet(const Run &run) {
    const gbench_result result = result_of(run);
    return run.error_occurred ? nullptr : watching.vet(watching.ctx, &result);
}

/* All are looked at before any is changed: one bad repetition may condemn the others. */
std::vector<Run> vetted(std::vector<Run> runs) {
    for (const Run &run : runs)
        vet(run);
    for (Run &run : runs) {
        for (auto &[name, counter] : run.counters)
            if (name.rfind('%', 0) == 0) /* its value is final by now, and "/s" would follow */
                counter.flags = benchmark::Counter::kDefaults;
        const char *message = vet(run);
        if (message == nullptr)
            continue;
        run.error_occurred = true;
        run.error_message = message;
        run.real_accumulated_time = run.cpu_accumulated_time = 0; /* the file would show it */
        run.counters.clear();
    }
    return runs;
}

/* Shows results as Google Benchmark would, and tells the caller about each. */
class Display : public benchmark::BenchmarkReporter {
  public:
    Display() : display_(benchmark::CreateDefaultDisplayReporter()) {}

    bool ReportContext(const Context &context) override { return display_->ReportContext(context); }

    void ReportRuns(const std::vector<Run> &reported) override {
        const std::vector<Run> runs = vetted(reported);
        display_->ReportRuns(runs);
        for (const Run &run : runs) {
            if (run.run_type == Run::RT_Aggregate && run.aggregate_unit != benchmark::kTime)
                continue;
            const gbench_result result = result_of(run);
            watching.each(watching.ctx, &result);
        }
    }

    void Finalize() override { display_->Finalize(); }

  private:
    benchmark::BenchmarkReporter *display_; /* Google Benchmark keeps it for the whole process */
};

/* The file of --benchmark_out. Google Benchmark itself does not look whether it can be written. */
template <class Reporter> class File : public Reporter {
  public:
    template <class... Options>
    explicit File(bool *lost, Options... options) : Reporter(options...), lost_(lost) {}

    void ReportRuns(const std::vector<Run> &runs) override { Reporter::ReportRuns(vetted(runs)); }

    void Finalize() override {
        Reporter::Finalize();
        this->GetOutputStream().flush();
        *lost_ = !this->GetOutputStream();
    }

  private:
    bool *lost_;
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* csv is still a format */
using CsvFile = File<benchmark::CSVReporter>;
#pragma GCC diagnostic pop

std::string out_path, out_format; /* of the file */

std::string flag_or_variable(int argc, char **argv, const std::string &flag, const char *variable,
                             const char *otherwise) {
    const char *from = std::getenv(variable);
    std::string value = from != nullptr ? from : otherwise;
    for (int i = 1; i < argc; i++) {
        const std::string word = argv[i];
        if (word.compare(0, flag.size(), flag) == 0)
            value = word.substr(flag.size());
    }
    return value;
}

std::unique_ptr<benchmark::BenchmarkReporter> new_file(bool *lost) {
    if (out_path.empty())
        return nullptr;
    if (out_format == "csv")
        return std::make_unique<CsvFile>(lost);
    if (out_format == "console")
        return std::make_unique<File<benchmark::ConsoleReporter>>(
            lost, benchmark::ConsoleReporter::OO_None);
    return std::make_unique<File<benchmark::JSONReporter>>(lost);
}

} // namespace

void gbench_register(const char *name, gbench_function function, void *arg) {
    benchmark::internal::RegisterBenchmarkInternal(new Entry(name, function, arg));
}

bool gbench_keep_running(gbench_state *state) { return state_of(state).KeepRunning(); }

void gbench_skip(gbench_state *state, const char *message) {
    state_of(state).SkipWithError(message);
}

void gbench_label(gbench_state *state, const char *label) { state_of(state).SetLabel(label); }

void gbench_counter(gbench_state *state, const char *name, double value) {
    state_of(state).counters[name] = benchmark::Counter(value);
}

void gbench_rate(gbench_state *state, const char *name, double value_per_iteration) {
    state_of(state).counters[name] =
        benchmark::Counter(value_per_iteration, benchmark::Counter::kIsIterationInvariantRate);
}

void gbench_context(const char *key, const char *value) { benchmark::AddCustomContext(key, value); }

void gbench_initialize(int *argc, char **argv) {
    benchmark::SetDefaultTimeUnit(benchmark::kMicrosecond);
    out_path = flag_or_variable(*argc, argv, "--benchmark_out=", "BENCHMARK_OUT", "");
    out_format =
        flag_or_variable(*argc, argv, "--benchmark_out_format=", "BENCHMARK_OUT_FORMAT", "json");
    benchmark::Initialize(argc, argv, refuse_flag);
}

void gbench_print_flags(void) { benchmark::PrintDefaultHelp(); }

int64_t gbench_run(const gbench_observer *observer) {
    Display display;
    watching = *observer;
    bool lost = false;
    const std::unique_ptr<benchmark::BenchmarkReporter> file = new_file(&lost);
    const std::size_t matched = benchmark::RunSpecifiedBenchmarks(&display, file.get());
    benchmark::Shutdown();
    return lost ? -1 : static_cast<int64_t>(matched);
}
